//! The connections that receive the notifications of a thread.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::connection::{Connection, ConnectionId};

pub(super) type Subscribers = BTreeMap<ConnectionId, Subscriber>;

/// A client that receives the notifications of a thread.
#[derive(Clone, Debug)]
pub(super) struct Subscriber {
    pub(super) connection: Arc<Connection>,
    /// The release that decides which items and turns it is told of. It stays the same from the begin of a turn to its
    /// end, so that each item that begins for a client ends for it.
    pub(super) is_newer_in_turn: bool,
}

impl Subscriber {
    pub(super) fn new(connection: &Arc<Connection>) -> Self {
        Self {
            is_newer_in_turn: connection.knows_newer(),
            connection: Arc::clone(connection),
        }
    }

    /// Takes over what the client has shown of its release. Called between turns.
    pub(super) fn take_release(&mut self) {
        self.is_newer_in_turn = self.connection.knows_newer();
    }
}
