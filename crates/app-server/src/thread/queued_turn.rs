//! Turns whose input is a message of the queue.

use std::path::Path;
use std::sync::Arc;

use codex_app_server_protocol::v2::TurnStartParams;
use codex_rollout::ThreadLocks;
use codex_thread_state::QueueEntry;

use super::actor::Actor;
use super::queue_changed::queue_changed;
use super::queue_handover::{HandedOver, end_left_handovers, lock_of};
use super::queued_message::QueuedMessage;
use crate::failure::Failure;
use crate::failure::state_failed;

impl Actor {
    /// Starts a queued message, the first one unless an id is given. Returns the id of its turn.
    pub(crate) async fn start_from_queue(
        &mut self,
        id: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        let thread = self.thread.id().clone();
        self.end_left_handovers().await;
        let turn = uuid::Uuid::now_v7().to_string();
        let Some((handed_over, message)) = self.hand_over(id, &turn)? else {
            return Ok(None);
        };
        self.notify(queue_changed(&thread));
        let params = TurnStartParams {
            thread_id: thread.to_string(),
            input: message.input,
            client_user_message_id: Some(message.client_user_message_id),
            responsesapi_client_metadata: message.responsesapi_client_metadata,
            ..TurnStartParams::default()
        };
        match self.begin_turn(turn, params, true).await {
            Ok(turn) => {
                self.handover_begun(handed_over, &turn);
                Ok(Some(turn))
            }
            Err(failure) => {
                self.handover_failed(&handed_over);
                drop(handed_over);
                self.notify(queue_changed(&thread));
                Err(failure)
            }
        }
    }

    /// Gives back what a process left on its way into a turn.
    async fn end_left_handovers(&self) {
        let left = self.logged(self.state().handovers(self.thread.id().as_str()));
        let Some(left) = left.filter(|left| !left.is_empty()) else {
            return;
        };
        let (state, log) = (Arc::clone(self.state()), self.facts.path.clone());
        let home = self.server.host().store().home().to_owned();
        let ended = tokio::task::spawn_blocking(move || {
            end_left_handovers(&state, &home, left, log.as_deref().map(Path::new))
        });
        if let Ok(ended) = ended.await {
            self.logged(ended);
        }
    }

    /// Takes a message out of the queue for a turn: the one with this id, otherwise the first. None if there is none, or if
    /// another process is taking it.
    pub(super) fn hand_over(
        &self,
        id: Option<&str>,
        turn: &str,
    ) -> Result<Option<(HandedOver, QueuedMessage)>, Failure> {
        let (state, thread) = (self.state(), self.thread.id().as_str());
        let queue = state.queue(thread).map_err(state_failed)?;
        let is_meant = |queued: &QueueEntry| id.is_none_or(|id| queued.id == id);
        let Some(queued) = queue.into_iter().find(is_meant) else {
            return Ok(None);
        };
        let message = QueuedMessage::read(&queued.message)?;
        // Before the handover is stored: without the lock another process would take it for one that was left.
        let locks = ThreadLocks::of_home(self.server.host().store().home());
        let Some(lock) = lock_of(&locks, &queued.id) else {
            return Ok(None);
        };
        let is_taken = state.hand_over(thread, &queued.id, turn);
        let handed_over = is_taken.map_err(state_failed)?.then(|| HandedOver {
            entry: queued.id,
            turn: turn.to_owned(),
            message: message.client_user_message_id.clone(),
            is_recorded: false,
            _lock: lock,
        });
        Ok(handed_over.map(|handed_over| (handed_over, message)))
    }

    /// The turn has not begun: the message is in the queue again.
    pub(super) fn handover_failed(&self, handed_over: &HandedOver) {
        self.logged(self.state().end_handover(&handed_over.entry, false));
    }

    /// A turn has begun with the message.
    pub(super) fn handover_begun(&mut self, mut handed_over: HandedOver, turn: &str) {
        if handed_over.turn != turn {
            self.logged(self.state().change_handover(&handed_over.entry, turn));
            turn.clone_into(&mut handed_over.turn);
        }
        self.follow_up.handed_over = Some(handed_over);
    }

    /// A turn has ended. If the log has its message, that is removed from the store. A turn that was aborted or failed before it
    /// took its message leaves it to the queue; one that completed without it has refused it. Returns whether the message is in
    /// the queue again.
    pub(super) async fn end_handover(&mut self, turn: &str, is_cut_short: bool) -> bool {
        let is_of_turn = |handed_over: &mut HandedOver| handed_over.turn == turn;
        let Some(handed_over) = self.follow_up.handed_over.take_if(is_of_turn) else {
            return false;
        };
        if is_cut_short && !handed_over.is_recorded {
            self.handover_failed(&handed_over);
            drop(handed_over);
            self.notify(queue_changed(self.thread.id()));
            return true;
        }
        match self.thread.synchronise().await {
            Ok(()) => {
                self.logged(self.state().end_handover(&handed_over.entry, true));
            }
            Err(error) => {
                tracing::warn!(%error, "a queued message is kept until its turn is stored");
            }
        }
        false
    }
}
