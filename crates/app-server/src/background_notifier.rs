//! What something that goes on beside requests says to its client, until it is told to be quiet.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use codex_app_server_protocol::ServerNotification;

use crate::connection::Connection;

/// A voice. It keeps no connection alive.
#[derive(Debug)]
pub(crate) struct Voice(Mutex<Option<Weak<Connection>>>);

impl Voice {
    pub(crate) fn new(connection: &Arc<Connection>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(Arc::downgrade(connection)))))
    }

    pub(crate) fn say(&self, notification: &ServerNotification) {
        // Held while it speaks: once it is silenced, nothing is on its way any more.
        let connection = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = connection.as_ref().and_then(Weak::upgrade) {
            connection.notify(notification);
        }
    }

    /// Nothing is said any more.
    pub(crate) fn silence(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
