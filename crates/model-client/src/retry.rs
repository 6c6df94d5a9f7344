//! Decides whether and when a failed request is sent again.
//!
//! Two layers use this rule. The client retries silently as long as there is no reply; the reader of the stream retries
//! visibly when the stream fails. So that the retries do not multiply, the client sends a request that is itself a retry
//! only once ([`crate::RequestContext::attempt`]).

use std::time::Duration;

use crate::clock::Clock;
use crate::error::ModelError;

const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// If a server asks for a longer wait, the request fails, so that the user is informed.
const LONGEST_DEMANDED_WAIT: Duration = Duration::from_secs(300);

/// The maximum number of retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    max_retries: u32,
}

impl RetryPolicy {
    /// A policy with this maximum.
    pub fn new(max_retries: u32) -> Self {
        Self { max_retries }
    }

    /// The maximum number of retries.
    pub fn max_retries(&self) -> u32 {
        self.max_retries
    }

    /// The wait before retry number `retry`, from 1, of a request whose stream failed with `error`; none if it must not be
    /// retried.
    pub fn next(&self, error: &ModelError, retry: u32, clock: &dyn Clock) -> Option<Duration> {
        if !error.is_retryable() {
            return None;
        }
        let wait = self.wait(error.retry_after(), retry, clock)?;
        (wait <= LONGEST_DEMANDED_WAIT).then_some(wait)
    }

    /// The wait before retry number `retry`, for any error.
    pub(crate) fn wait(
        &self,
        demanded: Option<Duration>,
        retry: u32,
        clock: &dyn Clock,
    ) -> Option<Duration> {
        if retry > self.max_retries {
            return None;
        }
        Some(demanded.unwrap_or_else(|| backoff(retry, clock.jitter())))
    }
}

/// 200 ms, doubled with each retry, plus or minus ten percent.
fn backoff(retry: u32, jitter: f64) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(retry.saturating_sub(1)));
    doubled.min(LONGEST_WAIT).mul_f64(jitter.clamp(0.9, 1.1))
}

/// Parses the wait in a text such as `Please try again in 1.5s`.
pub(crate) fn wait_in_text(text: &str) -> Option<Duration> {
    const INTRODUCTION: &str = "try again in";
    let lower = text.to_ascii_lowercase();
    let after = lower.find(INTRODUCTION)? + INTRODUCTION.len();
    let rest = lower[after..].trim_start();
    let number_end = rest
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(rest.len());
    let number: f64 = rest[..number_end].parse().ok()?;
    let unit_text = rest[number_end..].trim_start();
    let unit_end = unit_text
        .find(|character: char| !character.is_ascii_alphabetic())
        .unwrap_or(unit_text.len());
    let seconds = match &unit_text[..unit_end] {
        "ms" => number / 1000.0,
        "s" | "second" | "seconds" => number,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use jiff::Zoned;

    use super::*;
    use crate::error::BreakCause;

    #[derive(Debug)]
    struct FixedClock;

    #[async_trait]
    impl Clock for FixedClock {
        fn now(&self) -> Zoned {
            Zoned::default()
        }

        async fn sleep(&self, _duration: Duration) {}

        fn jitter(&self) -> f64 {
            1.0
        }
    }

    fn broken(retry_after: Option<Duration>) -> ModelError {
        ModelError::Disconnected {
            detail: "cut".to_owned(),
            cause: BreakCause::CutStream,
            retry_after,
        }
    }

    #[test]
    fn retry_delays_double_up_to_a_minute() {
        let policy = RetryPolicy::new(99);
        let wait = |retry| {
            policy
                .next(&broken(None), retry, &FixedClock)
                .map(|wait| wait.as_millis())
        };
        let waits: Vec<_> = [1, 2, 3, 9, 10, 99, 100].map(wait).to_vec();
        let expected = [200, 400, 800, 51_200, 60_000, 60_000].map(Some);
        assert_eq!(waits[..6], expected);
        assert_eq!(waits[6], None);
    }

    #[test]
    fn jitter_stays_within_a_tenth() {
        assert_eq!(backoff(1, 0.0), Duration::from_millis(180));
        assert_eq!(backoff(1, 9.0), Duration::from_millis(220));
    }

    #[test]
    fn a_demanded_wait_counts_unless_it_is_endless() {
        let policy = RetryPolicy::new(5);
        let ask = |seconds| {
            let error = broken(Some(Duration::from_secs(seconds)));
            policy.next(&error, 1, &FixedClock)
        };
        assert_eq!(ask(7), Some(Duration::from_secs(7)));
        assert_eq!(ask(3600), None);
    }

    #[test]
    fn fatal_errors_are_not_retried() {
        let policy = RetryPolicy::new(5);
        assert_eq!(
            policy.next(&ModelError::QuotaExceeded, 1, &FixedClock),
            None
        );
    }

    #[test]
    fn waits_are_found_in_texts() {
        let check = |text, milliseconds: Option<u64>| {
            let expected = milliseconds.map(Duration::from_millis);
            assert_eq!(wait_in_text(text), expected, "{text}");
        };
        check(
            "Limit reached. Please try again in 11.054s. Thanks",
            Some(11_054),
        );
        check("Try again in 28ms.", Some(28));
        check("try again in 35 seconds", Some(35_000));
        check("try again in 1 second", Some(1_000));
        check("try again in 5 minutes", None);
        check("try again in a while", None);
        check("try again in 1.2.3s", None);
        check("later", None);
    }
}
