//! The connections of a server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use codex_projection::Change;
use codex_protocol::Release;
use codex_transport::{EncodedMessage, Limits};
use parking_lot::Mutex;

use crate::connection::{Connection, ConnectionId};
use crate::encoded_forms::EncodedForms;

/// All connected clients, including those before their handshake.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    next_id: AtomicU64,
    connections: Mutex<BTreeMap<ConnectionId, Arc<Connection>>>,
}

impl Clients {
    pub(crate) fn connect(&self, limits: Limits, given: Option<Release>) -> Arc<Connection> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let connection = Connection::new(id, limits, given);
        self.connections.lock().insert(id, Arc::clone(&connection));
        connection
    }

    pub(crate) fn remove(&self, id: ConnectionId) -> Option<Arc<Connection>> {
        self.connections.lock().remove(&id)
    }

    /// The clients that have completed their handshake.
    pub(crate) fn ready(&self) -> Vec<Arc<Connection>> {
        let connections = self.connections.lock();
        let ready = connections.values().filter(|one| one.client().is_some());
        ready.cloned().collect()
    }

    /// Sends a notification to every selected client that wants it. The message is encoded at most once.
    pub(crate) fn broadcast(
        &self,
        method: &str,
        is_selected: impl Fn(&Connection) -> bool,
        line: impl FnOnce() -> EncodedMessage,
    ) {
        let connections = self.connections.lock();
        let wants = |one: &&Arc<Connection>| one.wants(method) && is_selected(one);
        let wanting: Vec<_> = connections.values().filter(wants).cloned().collect();
        if !wanting.is_empty() {
            let line = line();
            wanting
                .iter()
                .for_each(|one| one.push_notification(line.clone()));
        }
    }

    /// Sends every client its form of a change.
    pub(crate) fn broadcast_change(&self, change: &Change) {
        let connections = self.connections.lock();
        let mut forms = EncodedForms::new(change);
        for client in connections.values() {
            forms.send(client, client.dialect());
        }
    }

    /// Sends nothing more to any client.
    pub(crate) fn close(&self) {
        for connection in self.connections.lock().values() {
            connection.outbox().close();
        }
    }
}
