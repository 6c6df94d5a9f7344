//! The connections that receive the notifications of a thread.

use std::collections::BTreeMap;
use std::collections::btree_map::{Entry, Values};
use std::sync::Arc;

use codex_projection::dialect::Dialect;

use crate::connection::{Connection, ConnectionId};

/// The clients of a thread. From the begin of a turn to its end each of them is spoken to in one dialect, so that each
/// item that begins for a client ends for it, in the same form. This holds for clients that leave and come back too.
#[derive(Clone, Debug, Default)]
pub(super) struct Subscribers {
    all: BTreeMap<ConnectionId, Subscriber>,
    /// The dialects of clients that have left during the turn that runs.
    left: BTreeMap<ConnectionId, Dialect>,
}

/// A client that receives the notifications of a thread.
#[derive(Clone, Debug)]
pub(super) struct Subscriber {
    pub(super) connection: Arc<Connection>,
    /// In what form it is told of items and turns, and asked about them.
    pub(super) dialect_in_turn: Dialect,
}

impl Subscribers {
    /// Returns whether the client is a new one.
    pub(super) fn add(&mut self, connection: &Arc<Connection>) -> bool {
        let dialect_in_turn = self.dialect_in_turn(connection);
        let Entry::Vacant(vacant) = self.all.entry(connection.id()) else {
            return false;
        };
        vacant.insert(Subscriber {
            connection: Arc::clone(connection),
            dialect_in_turn,
        });
        true
    }

    pub(super) fn remove(&mut self, connection: ConnectionId) -> Option<Subscriber> {
        let left = self.all.remove(&connection)?;
        self.left.insert(connection, left.dialect_in_turn);
        Some(left)
    }

    /// The dialect of the turn that runs, or of the next one, for this client.
    pub(super) fn dialect_in_turn(&self, connection: &Connection) -> Dialect {
        let id = connection.id();
        let known = self.all.get(&id).map(|one| one.dialect_in_turn);
        let known = known.or_else(|| self.left.get(&id).copied());
        known.unwrap_or_else(|| connection.dialect())
    }

    /// Takes over what the clients have shown of their releases. Called between turns.
    pub(super) fn take_dialects(&mut self) {
        self.left.clear();
        for one in self.all.values_mut() {
            one.dialect_in_turn = one.connection.dialect();
        }
    }

    pub(super) fn values(&self) -> Values<'_, ConnectionId, Subscriber> {
        self.all.values()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}
