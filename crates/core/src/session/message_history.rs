//! The input of the user, kept over all threads for recalling it. Files are read and written in the
//! background.

use codex_protocol::{EventMsg, GetHistoryEntryResponseEvent};
use codex_rollout::{add_message, message_at};

use super::actor::SessionActor;

impl SessionActor {
    /// Adds an input. A failure is only logged.
    pub(super) fn remember(&self, text: String) {
        let config = &self.context.config;
        let kept = config.options.message_history;
        if !kept.keep {
            return;
        }
        let (home, thread) = (
            config.services.home.clone(),
            self.context.emitter.thread().clone(),
        );
        let now = self.context.clock.now();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = add_message(&home, &thread, &text, now, kept.max_bytes) {
                tracing::warn!("a message is not kept: {error}");
            }
        });
    }

    pub(super) fn recall(&self, id: String, log_id: u64, offset: usize) {
        let home = self.context.config.services.home.clone();
        let emitter = self.context.emitter.clone();
        tokio::task::spawn_blocking(move || {
            let entry = message_at(&home, log_id, offset);
            let recalled = GetHistoryEntryResponseEvent {
                offset,
                log_id,
                entry,
            };
            emitter.emit(&id, EventMsg::GetHistoryEntryResponse(recalled));
        });
    }
}
