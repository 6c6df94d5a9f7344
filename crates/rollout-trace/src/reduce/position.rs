//! Where the event at hand is: in the log, in time, and in which thread and turn.

use crate::format::ExecutionStatus;
use crate::ids::{ThreadId, TurnId};
use crate::model::ExecutionWindow;

/// The position of the current event in log and time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EventTime {
    pub(super) seq: u64,
    pub(super) at: i64,
}

impl EventTime {
    /// A window that opens now.
    pub(super) fn open(self) -> ExecutionWindow {
        ExecutionWindow {
            started_at_unix_ms: self.at,
            started_seq: self.seq,
            ended_at_unix_ms: None,
            ended_seq: None,
            status: ExecutionStatus::Running,
        }
    }

    /// Ends a window now.
    pub(super) fn close(self, window: &mut ExecutionWindow, status: ExecutionStatus) {
        window.ended_at_unix_ms = Some(self.at);
        window.ended_seq = Some(self.seq);
        window.status = status;
    }
}

/// The thread and turn that an event's line names.
#[derive(Debug, Clone)]
pub(super) struct LineContext {
    pub(super) thread: Option<ThreadId>,
    pub(super) turn: Option<TurnId>,
}
