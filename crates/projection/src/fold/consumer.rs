//! The callbacks of the fold.

use codex_app_server_protocol::v2::{ThreadItem, TimedItem, TurnError};
use codex_protocol::{EventMsg, TurnUsage};

use super::turn::FoldedTurn;

/// How an item ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemEnd {
    Usual,
    /// A client was asked about it and declined it.
    DeclinedByClient,
    /// A client has interrupted its turn.
    ByInterrupt,
    /// The same, but the turn was complete nevertheless. This end was told already.
    BeforeInterrupt,
}

/// Receives the changes that events cause, in order. A consumer implements what it needs.
pub trait Consumer {
    /// A turn was added at the end. For a live review this comes before its start.
    fn turn_added(&mut self, _turn: &FoldedTurn) {}

    /// A line is about a turn that the fold does not have. Returns whether it is one of the turns before those that the
    /// fold has.
    fn turn_missing(&mut self, _turn: &str) -> bool {
        false
    }

    /// A line removes turns before those that the fold has.
    fn earlier_turns_cut(&mut self) {}

    /// A turn starts with an explicit event.
    fn turn_started(&mut self, _turn: &FoldedTurn) {}

    /// The last turn is complete, because another one follows or the history is cut.
    fn turn_left(&mut self, _turn: &mut FoldedTurn) {}

    /// An event changed the turn at this position.
    fn turn_changed(&mut self, _position: usize) {}

    /// A turn ends.
    fn turn_completed(&mut self, _turn: &FoldedTurn) {}

    /// What files were before a turn changed them is kept. The turn is about to end.
    fn checkpoint_created(&mut self, _turn: &str, _checkpoint: &str) {}

    /// What the turn has used. It is about to end.
    fn turn_usage(&mut self, _usage: &TurnUsage) {}

    /// The turns from this length on were removed.
    fn turns_cut(&mut self, _length: usize) {}

    /// A review was announced. Its turn is added later.
    fn review_announced(&mut self) {}

    /// An item begins.
    fn item_started(&mut self, _turn: &str, _item: &ThreadItem, _now: Option<i64>) {}

    /// A command waits for approval. Its item has not begun.
    fn command_asked(&mut self, _turn: &str, _item: ThreadItem, _now: Option<i64>) {}

    /// An item ends.
    fn item_completed(&mut self, _turn: &str, _item: &TimedItem, _end: ItemEnd, _now: Option<i64>) {
    }

    /// A patch produced output.
    fn patch_output(&mut self, _turn: &str, _item: &str, _output: &str) {}

    /// A turn, or the thread, fails.
    fn error(&mut self, _turn: &str, _error: &TurnError) {}

    /// An event that changes neither items nor turns. `turn` is the turn for events without a turn id.
    fn other_event(
        &mut self,
        _turns: &[FoldedTurn],
        _turn: &str,
        _event: &EventMsg,
        _now: Option<i64>,
    ) {
    }
}

/// Ignores all changes: only the resulting turns are used.
impl Consumer for () {}
