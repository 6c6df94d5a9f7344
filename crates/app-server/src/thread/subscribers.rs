//! The connections that receive the notifications of a thread.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::connection::{Connection, ConnectionId};
use crate::dialect::Dialect;

pub(super) type Subscribers = BTreeMap<ConnectionId, Subscriber>;

/// A client that receives the notifications of a thread.
#[derive(Clone, Debug)]
pub(super) struct Subscriber {
    pub(super) connection: Arc<Connection>,
    /// In what form it is told of items and turns. It stays the same from the begin of a turn to its end, so that each
    /// item that begins for a client ends for it.
    pub(super) dialect_in_turn: Dialect,
}

impl Subscriber {
    pub(super) fn new(connection: &Arc<Connection>) -> Self {
        Self {
            dialect_in_turn: connection.dialect(),
            connection: Arc::clone(connection),
        }
    }

    /// Takes over what the client has shown of its release. Called between turns.
    pub(super) fn take_dialect(&mut self) {
        self.dialect_in_turn = self.connection.dialect();
    }
}
