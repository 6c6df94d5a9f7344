//! What the subscribers of a thread are told, by their release.

use codex_app_server_protocol::ServerNotification;

use super::actor::Actor;
use crate::connection::encode_notification;
use crate::projection::{Audience, older_notification};

impl Actor {
    /// Notifies the subscribers.
    pub(super) fn notify(&self, notification: &ServerNotification) {
        self.notify_audience(Audience::All, notification);
    }

    /// Notifies some of the subscribers. The message is encoded once.
    pub(super) fn notify_audience(&self, audience: Audience, notification: &ServerNotification) {
        let method = notification.method();
        let mut line = None;
        let older = older_notification(notification);
        let is_sound = matches!(
            notification,
            ServerNotification::ThreadRealtimeOutputAudioDelta(_)
        );
        for subscriber in self.subscribers.values() {
            let is_meant = match audience {
                Audience::All => true,
                Audience::Newer => subscriber.knows_newer(),
                Audience::Older => !subscriber.knows_newer(),
            };
            // Late sound is worth nothing.
            let is_late = is_sound && !subscriber.outbox().has_room();
            if !is_meant || is_late || !subscriber.wants(method) {
                continue;
            }

            if let Some(older) = older.as_ref().filter(|_| !subscriber.knows_newer()) {
                let line = encode_notification(older);
                subscriber.outbox().push_notification(line);
            } else {
                let line = line.get_or_insert_with(|| encode_notification(notification));
                subscriber.outbox().push_notification(line.clone());
            }
        }
    }

    /// Notifies the subscribers that are newer than release 0.117.
    pub(super) fn notify_newer(&self, notification: &ServerNotification) {
        self.notify_audience(Audience::Newer, notification);
    }
}
