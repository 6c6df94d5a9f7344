//! When clients hear what a response has used: at once, or after the calls of tools that it asks for.

use crate::dialect::rows::Dialect;
use crate::{Change, Moment};

pub(super) fn is_sent(dialect: Dialect, change: &Change) -> bool {
    match change.moment {
        Moment::UsageReported => !dialect.counts_usage_after_calls(),
        Moment::UsageCounted | Moment::UsageRepeated => dialect.counts_usage_after_calls(),
        _ => true,
    }
}
