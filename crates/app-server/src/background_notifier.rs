//! Sends notifications for background work (searches, watches). After `close` nothing more is sent.

use std::fmt::Debug;
use std::sync::{Arc, Weak};

use codex_app_server_protocol::ServerNotification;
use parking_lot::Mutex;

/// Receives notifications for one client.
pub(crate) trait NotificationSink: Debug + Send + Sync {
    fn notify(&self, notification: &ServerNotification);
}

/// Holds a weak reference, so it does not keep the connection open.
#[derive(Debug)]
pub(crate) struct BackgroundNotifier(Mutex<Option<Weak<dyn NotificationSink>>>);

impl BackgroundNotifier {
    pub(crate) fn new<S: NotificationSink + 'static>(sink: &Arc<S>) -> Arc<Self> {
        let sink: Weak<S> = Arc::downgrade(sink);
        Arc::new(Self(Mutex::new(Some(sink))))
    }

    pub(crate) fn send(&self, notification: &ServerNotification) {
        // Locked while it sends, so that nothing is sent after `close` has returned.
        let sink = self.0.lock();
        if let Some(sink) = sink.as_ref().and_then(Weak::upgrade) {
            sink.notify(notification);
        }
    }

    pub(crate) fn close(&self) {
        *self.0.lock() = None;
    }
}
