//! What the subscribers of a thread are told, by their release.
//!
//! Items and turns are told by the release that a client had shown when the turn began, everything else by what it has
//! shown up to now.

use codex_app_server_protocol::ServerNotification;

use super::actor::Actor;
use super::subscribers::Subscriber;
use crate::connection::encode_notification;
use crate::projection::{Audience, older_notification};

impl Actor {
    /// Notifies the subscribers.
    pub(super) fn notify(&self, notification: &ServerNotification) {
        let is_newer = |subscriber: &Subscriber| subscriber.connection.knows_newer();
        self.notify_by(is_newer, Audience::All, notification);
    }

    /// Notifies the subscribers that are newer than release 0.117.
    pub(super) fn notify_newer(&self, notification: &ServerNotification) {
        let is_newer = |subscriber: &Subscriber| subscriber.connection.knows_newer();
        self.notify_by(is_newer, Audience::Newer, notification);
    }

    /// Notifies some of the subscribers of a change of a turn or a conversation.
    pub(super) fn notify_of_turn(&self, audience: Audience, notification: &ServerNotification) {
        self.notify_by(|one| one.is_newer_in_turn, audience, notification);
    }

    /// Between turns: takes over what the clients have shown of their releases.
    pub(super) fn take_releases(&mut self) {
        if !self.fold.is_in_turn_or_conversation() {
            for subscriber in self.subscribers.values_mut() {
                subscriber.take_release();
            }
        }
    }

    /// The message is encoded once for all clients of a release.
    fn notify_by(
        &self,
        is_newer: impl Fn(&Subscriber) -> bool,
        audience: Audience,
        notification: &ServerNotification,
    ) {
        let method = notification.method();
        let mut line = None;
        let older = older_notification(notification);
        let is_sound = matches!(
            notification,
            ServerNotification::ThreadRealtimeOutputAudioDelta(_)
        );
        for subscriber in self.subscribers.values() {
            let is_newer = is_newer(subscriber);
            let is_meant = match audience {
                Audience::All => true,
                Audience::Newer => is_newer,
                Audience::Older => !is_newer,
            };
            let outbox = subscriber.connection.outbox();
            // Late sound is worth nothing.
            let is_late = is_sound && !outbox.has_room();
            if !is_meant || is_late || !subscriber.connection.wants(method) {
                continue;
            }
            if let Some(older) = older.as_ref().filter(|_| !is_newer) {
                outbox.push_notification(encode_notification(older));
            } else {
                let line = line.get_or_insert_with(|| encode_notification(notification));
                outbox.push_notification(line.clone());
            }
        }
    }
}
