//! Messages of the queue on their way into a turn.
//!
//! A message stays stored until the log has its turn. While a process hands it over, it holds a lock on it. If the turn does not
//! begin, the message is in the queue again at once; if the process dies, the next one that looks at the queue finds a handover
//! without a lock, and the log tells whether the turn has the message.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use codex_protocol::{EventMsg, RolloutItem, ThreadId};
use codex_rollout::{ThreadLock, ThreadLocks, scan};
use codex_thread_state::{QueueEntry, QueueHandover, StateError, ThreadState};

use super::actor::Actor;
use crate::failure::Failure;
use crate::handlers::{QueuedMessage, read_queued, state_failed};

/// A message that the running turn of this process has.
#[derive(Debug)]
pub(super) struct HandedOver {
    entry: String,
    turn: String,
    _lock: ThreadLock,
}

impl Actor {
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
        let message = read_queued(&queued.message)?;
        // Before the handover is stored: without the lock another process would take it for one that was left.
        let locks = ThreadLocks::of_home(self.server.host().store().home());
        let Some(lock) = lock_of(&locks, &queued.id) else {
            return Ok(None);
        };
        let is_taken = state.hand_over(thread, &queued.id, turn);
        let handed_over = is_taken.map_err(state_failed)?.then(|| HandedOver {
            entry: queued.id,
            turn: turn.to_owned(),
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

    /// A turn has ended. If the log has it, the message is removed from the store.
    pub(super) async fn end_handover(&mut self, turn: &str) {
        let is_of_turn = |handed_over: &mut HandedOver| handed_over.turn == turn;
        let Some(handed_over) = self.follow_up.handed_over.take_if(is_of_turn) else {
            return;
        };
        match self.thread.flush().await {
            Ok(()) => {
                self.logged(self.state().end_handover(&handed_over.entry, true));
            }
            Err(error) => {
                tracing::warn!(%error, "a queued message is kept until its turn is stored");
            }
        }
    }
}

fn lock_of(locks: &Arc<ThreadLocks>, entry: &str) -> Option<ThreadLock> {
    // Locks are found by random ids; those of threads and messages have the same form.
    locks.acquire(&ThreadId(entry.to_owned())).ok()
}

/// Ends the handovers of a thread that processes have left: `log` is its file. Blocks on the file system.
pub(crate) fn end_left_handovers(
    state: &ThreadState,
    home: &Path,
    thread: &str,
    log: Option<&Path>,
) -> Result<(), StateError> {
    let left = state.handovers(thread)?;
    if left.is_empty() {
        return Ok(());
    }
    let locks = ThreadLocks::of_home(home);
    for handover in left {
        if let Some(_lock) = lock_of(&locks, &handover.queued.id) {
            let is_stored = log.is_some_and(|log| has_message(log, &handover));
            state.end_handover(&handover.queued.id, is_stored)?;
        }
    }
    Ok(())
}

/// Whether a log has the message of a handover in its turn.
fn has_message(log: &Path, handover: &QueueHandover) -> bool {
    let Ok(message) = read_queued(&handover.queued.message) else {
        return false;
    };
    let (mut has_begun, mut is_found) = (false, false);
    // What cannot be read has no message.
    let _ = scan(log, |line| {
        let kind = line.kind().unwrap_or_default();
        let event = kind.1.as_deref().unwrap_or_default();
        match (&*kind.0, event) {
            ("event_msg", "task_started" | "turn_started") => {
                has_begun |= memchr::memmem::find(line.bytes(), handover.turn.as_bytes()).is_some();
            }
            ("event_msg", "user_message") if has_begun => {
                if let Some(read) = line.read()
                    && let RolloutItem::EventMsg(EventMsg::UserMessage(said)) = read.item
                    && said.client_id.as_ref() == Some(&message.client_user_message_id)
                {
                    is_found = true;
                    return ControlFlow::Break(());
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    is_found
}
