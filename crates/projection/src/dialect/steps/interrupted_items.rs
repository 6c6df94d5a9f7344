//! The ends of items that are unfinished when a client interrupts their turn.

use crate::dialect::rows::Dialect;
use crate::{Change, Moment};

pub(super) fn is_sent(dialect: Dialect, change: &Change) -> bool {
    match change.moment {
        Moment::EndedByInterrupt => dialect.ends_interrupted_items(),
        Moment::EndedBeforeInterrupt => !dialect.ends_interrupted_items(),
        _ => true,
    }
}
