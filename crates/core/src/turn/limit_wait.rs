//! A turn that goes on by itself when a usage limit is reset, if the user wants that.

use std::time::Duration;

use codex_model_client::ModelError;
use codex_protocol::{EventMsg, WarningEvent};

use super::outcome::TurnError;
use super::recording::RunningTurn;
use super::retry::Repeats;

/// The shortest wait, doubled with each further limit: the clock of the server may be ahead of ours.
const SHORTEST: Duration = Duration::from_secs(1);
/// The shortest wait does not double more often than this.
const DOUBLINGS: u32 = 8;
/// The time of day is looked at so often: a timer stands still while the machine sleeps.
const LOOK_EVERY: Duration = Duration::from_secs(30);

impl RunningTurn<'_> {
    /// Waits until a usage limit is reset. Returns the error if it is another one, or if the wait would be too long; a
    /// fallback that has not been tried goes on at once instead.
    pub(super) async fn wait_for_limit(
        &self,
        repeats: &mut Repeats,
        error: ModelError,
    ) -> Result<(), TurnError> {
        let Some(resets_at) = resets_at(&error).filter(|_| !self.has_fallback()) else {
            return Err(TurnError::Model(error));
        };
        let session = &self.scope.session;
        let longest = session.config.options.usage_limit_wait;
        let now = session.clock.now().as_second();
        let wait = wait(resets_at.saturating_sub(now), repeats.limit_waits);
        let total = repeats.limit_wait_total.saturating_add(wait);
        if total > longest {
            return Err(TurnError::Model(error));
        }
        repeats.limit_waits += 1;
        repeats.limit_wait_total = total;
        let until = now.saturating_add_unsigned(wait.as_secs());
        let message = format!(
            "{error} The turn waits for that and goes on by itself in about {}. Interrupt it to stop.",
            in_words(wait)
        );
        self.emitter
            .emit(EventMsg::Warning(WarningEvent { message }));
        let mut left = wait;
        while !left.is_zero() {
            let slept = left.min(LOOK_EVERY);
            tokio::select! {
                biased;
                () = self.scope.stop.stopped() => return Err(TurnError::Stopped),
                () = session.clock.sleep(slept) => {}
            }
            left -= slept;
            if session.clock.now().as_second() >= until {
                break;
            }
        }
        Ok(())
    }
}

fn resets_at(error: &ModelError) -> Option<i64> {
    match error {
        ModelError::UsageLimitReached(limit) => limit.resets_at,
        _ => None,
    }
}

/// The wait for a limit that is reset in so many seconds, after so many other limits.
fn wait(seconds: i64, limits: u32) -> Duration {
    let seconds = Duration::from_secs(seconds.max(0).unsigned_abs());
    seconds.max(SHORTEST * 2u32.pow(limits.min(DOUBLINGS)))
}

/// `40 s`, `3 min`, `2 h 5 min`.
fn in_words(wait: Duration) -> String {
    let minutes = wait.as_secs().div_ceil(60);
    match (minutes / 60, minutes % 60) {
        (0, ..=1) => format!("{} s", wait.as_secs()),
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_never_shorter_than_after_the_last_limit() {
        for (seconds, limits, expected) in [
            (60, 0, 60),
            (60, 3, 60),
            (0, 0, 1),
            (-5, 2, 4),
            (3, 2, 4),
            (0, 100, 256),
        ] {
            assert_eq!(wait(seconds, limits), Duration::from_secs(expected));
        }
    }

    #[test]
    fn waits_are_rounded_up_in_words() {
        for (seconds, text) in [
            (1, "1 s"),
            (60, "60 s"),
            (61, "2 min"),
            (3600, "1 h"),
            (7500, "2 h 5 min"),
        ] {
            assert_eq!(in_words(Duration::from_secs(seconds)), text);
        }
    }
}
