//! What the subscribers of a thread are told, each in the form of its dialect.
//!
//! Items and turns are told in the dialect that a client had when the turn began, everything else in the one that it has
//! now.

use codex_app_server_protocol::ServerNotification;
use codex_projection::Change;
use codex_projection::dialect::Dialect;

use super::actor::Actor;
use super::subscribers::Subscriber;
use crate::encoded_forms::EncodedForms;

impl Actor {
    /// Notifies the subscribers.
    pub(crate) fn notify(&self, notification: ServerNotification) {
        let dialect = |subscriber: &Subscriber| subscriber.connection.dialect();
        self.notify_by(dialect, &notification.into());
    }

    /// Notifies the subscribers of a change of a turn or a conversation.
    pub(super) fn notify_of_turn(&self, change: &Change) {
        self.notify_by(|subscriber| subscriber.dialect_in_turn, change);
    }

    /// Between turns: takes over what the clients have shown of their releases.
    pub(super) fn take_dialects(&mut self) {
        if !self.fold.is_in_turn_or_conversation() {
            self.subscribers.take_dialects();
        }
    }

    /// The message is encoded once for each form.
    fn notify_by(&self, dialect: impl Fn(&Subscriber) -> Dialect, change: &Change) {
        let mut forms = EncodedForms::new(change);
        let is_sound = matches!(
            change.notification,
            ServerNotification::ThreadRealtimeOutputAudioDelta(_)
        );
        for subscriber in self.subscribers.values() {
            // Late sound is worth nothing.
            if !is_sound || subscriber.connection.outbox().has_room() {
                forms.send(&subscriber.connection, dialect(subscriber));
            }
        }
    }
}
