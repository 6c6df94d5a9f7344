//! Messages of the queue on their way into a turn.
//!
//! A message stays stored until the log has its turn. While a process hands it over, it holds a lock on it. If the turn does not
//! begin, the message is in the queue again at once; if the process dies, the next one that looks at the queue finds a handover
//! without a lock, and the log tells whether the turn has the message.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use codex_protocol::{EventMsg, RolloutItem, ThreadId, UserMessageEvent};
use codex_rollout::{ThreadLock, ThreadLocks, scan};
use codex_thread_state::{QueueHandover, StateError, ThreadState};

use super::queued_message::QueuedMessage;

/// A message that the running turn of this process has.
#[derive(Debug)]
pub(super) struct HandedOver {
    pub(super) entry: String,
    pub(super) turn: String,
    /// The client's id of the message.
    pub(super) message: String,
    /// Whether the turn has told of the message, which the log has then.
    pub(super) is_recorded: bool,
    pub(super) _lock: ThreadLock,
}

impl HandedOver {
    /// Takes notice of a message of the running turn.
    pub(super) fn note(&mut self, message: &UserMessageEvent) {
        self.is_recorded |= message.client_id.as_ref() == Some(&self.message);
    }
}

/// None if another process holds it.
pub(super) fn lock_of(locks: &Arc<ThreadLocks>, entry: &str) -> Option<ThreadLock> {
    // Locks are found by random ids; those of threads and messages have the same form.
    locks.acquire(&ThreadId(entry.to_owned())).ok()
}

/// Ends the handovers of a thread that processes have left: `log` is its file. Blocks on the file system.
pub(crate) fn end_left_handovers(
    state: &ThreadState,
    home: &Path,
    left: Vec<QueueHandover>,
    log: Option<&Path>,
) -> Result<(), StateError> {
    let locks = ThreadLocks::of_home(home);
    for handover in left {
        if let Some(_lock) = lock_of(&locks, &handover.queued.id) {
            let has_turn = log.filter(|log| has_message(log, &handover));
            // The process before may not have come to that.
            let is_synchronised = |log| codex_private_files::synchronise(log).is_ok();
            let is_stored = has_turn.is_some();
            if has_turn.is_some_and(|log| !is_synchronised(log)) {
                continue;
            }
            state.end_handover(&handover.queued.id, is_stored)?;
        }
    }
    Ok(())
}

/// Whether a log has the message of a handover in its turn.
fn has_message(log: &Path, handover: &QueueHandover) -> bool {
    let Ok(message) = QueuedMessage::read(&handover.queued.message) else {
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
