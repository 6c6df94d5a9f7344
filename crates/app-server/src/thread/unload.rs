//! Unloads a thread that nobody uses any more.
//!
//! When the last client leaves, an idle thread stays loaded for a while where clients come back to it without
//! `thread/resume`. Others expect that it is unloaded at once.
//!
//! A thread that such a client has loaded belongs to this process: no other one loads, moves or deletes it.

use std::sync::Arc;

use codex_app_server_protocol::v2::ThreadUnsubscribeStatus;
use tokio::time::Instant;

use super::actor::Actor;
use crate::connection::{Connection, ConnectionId};
use crate::encoded_forms::EncodedForms;

impl Actor {
    pub(crate) fn subscribe(&mut self, connection: &Arc<Connection>) {
        if connection.dialect().holds_loaded_threads()
            && let Err(error) = self.thread.hold()
        {
            tracing::warn!(%error, "a loaded thread belongs to another process");
        }
        let is_new = self.subscribers.add(connection);
        self.unloading.at = None;
        if is_new {
            self.show_outliving_items(connection);
        }
    }

    /// Tells a client that items of earlier turns run on. Their ends follow.
    fn show_outliving_items(&self, connection: &Connection) {
        let dialect = self.subscribers.dialect_in_turn(connection);
        for begun in self.fold.outliving_items() {
            EncodedForms::new(&begun).send(connection, dialect);
        }
    }

    pub(crate) fn leave(&mut self, connection: ConnectionId) -> ThreadUnsubscribeStatus {
        let Some(left) = self.subscribers.remove(connection) else {
            return ThreadUnsubscribeStatus::NotSubscribed;
        };
        self.unloading.is_delayed = left.connection.dialect().unloads_later();
        self.close_if_alone();
        ThreadUnsubscribeStatus::Unsubscribed
    }

    /// Unloads a thread that is idle and has no subscribers, at once or after the delay.
    pub(super) fn close_if_alone(&mut self) {
        if !self.subscribers.is_empty() || self.turn.is_some() || self.is_agent {
            return;
        }
        if self.unloading.is_delayed {
            let at = Instant::now() + self.server.host().thread_unload_delay();
            self.unloading.at = Some(at);
        } else {
            self.close();
        }
    }

    /// A turn has started, so the thread is in use.
    pub(super) fn stay_loaded(&mut self) {
        self.unloading.at = None;
    }

    /// Ends the thread because its file is about to move. The caller sends its own notification instead of `thread/closed`.
    pub(crate) fn close_silently(&mut self) {
        self.is_closed_silently = true;
        self.close();
    }

    /// Ends the thread if it only waits to be unloaded. Returns whether it does.
    pub(crate) fn close_if_unused(&mut self) -> bool {
        let is_unused = self.unloading.at.is_some() && !self.is_closing;
        if is_unused {
            self.close_silently();
        }
        is_unused
    }

    pub(crate) fn close(&mut self) {
        self.unloading.at = None;
        if std::mem::replace(&mut self.is_closing, true) {
            return;
        }
        let (manager, id) = (Arc::clone(&self.manager), self.thread.id().clone());
        // Runs in the background: the last events are still handled, and end when the thread is closed.
        tokio::spawn(async move { manager.close(&id).await });
    }
}
