//! The callbacks of the fold: one trait, implemented by everything that uses it.

use codex_app_server_protocol::v2::{ThreadItem, TimedItem, TurnError};
use codex_protocol::EventMsg;

use super::turn::FoldedTurn;

/// Takes the changes that events make, in their order. A consumer implements what it needs.
pub(crate) trait Consumer {
    /// A turn takes its place behind the others. Of a live turn that is a review, this comes before it starts.
    fn turn_added(&mut self) {}

    /// A turn starts, by an event that says so.
    fn turn_started(&mut self, _turn: &FoldedTurn) {}

    /// Another turn is about to follow, or the history is cut: this is the last one so far.
    fn turn_left(&mut self, _turn: &mut FoldedTurn) {}

    /// An event says something about the turn at this position.
    fn turn_changed(&mut self, _position: usize) {}

    /// A turn ends.
    fn turn_completed(&mut self, _turn: &FoldedTurn) {}

    /// Only so many turns are left.
    fn turns_cut(&mut self, _length: usize) {}

    /// A review begins whose turn is added later.
    fn review_announced(&mut self) {}

    /// An item begins.
    fn item_started(&mut self, _turn: &str, _item: &ThreadItem, _now: Option<i64>) {}

    /// An item ends.
    fn item_completed(&mut self, _turn: &str, _item: &TimedItem, _now: Option<i64>) {}

    /// A patch printed something.
    fn patch_output(&mut self, _turn: &str, _item: &str, _output: &str) {}

    /// A turn, or the thread, fails.
    fn error(&mut self, _turn: &str, _error: &TurnError) {}

    /// An event that makes neither items nor turns; `turn` is the turn of an event that names none.
    fn other_event(&mut self, _turns: &[FoldedTurn], _turn: &str, _event: &EventMsg) {}
}

/// Nobody listens: only the turns count that come out.
impl Consumer for () {}
