//! The system time.

use std::time::{SystemTime, UNIX_EPOCH};

/// The current time in Unix milliseconds.
pub(crate) fn now_unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
