//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the beginning of 1970.
pub(crate) fn now_unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
