//! How long to wait before a request is repeated.

use std::time::Duration;

use codex_model_client::ModelError;
use codex_session_base::ports::Clock;

const FIRST_DELAY: Duration = Duration::from_millis(200);
/// The wait does not double more often than this.
const DOUBLINGS: u32 = 16;

/// What was done to repeat a request.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// The repeats after failures that may be temporary.
    pub(crate) count: u32,
    /// The waits for a usage limit.
    pub(super) limit_waits: u32,
    /// How long these took in all.
    pub(super) limit_wait_total: Duration,
}

/// The wait before repeat number `repeat`, counted from 1; none if it should not be repeated.
pub(crate) fn delay(error: &ModelError, repeat: u32, clock: &dyn Clock) -> Option<Duration> {
    if !error.is_retryable() {
        return None;
    }
    Some(error.retry_after().unwrap_or_else(|| {
        let doubled = FIRST_DELAY * 2u32.pow((repeat - 1).min(DOUBLINGS));
        doubled.mul_f64(0.9 + 0.2 * clock.jitter())
    }))
}
