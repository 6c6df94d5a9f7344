//! The clock of a replay: the recorded time, and short waits.

use std::sync::Arc;
use std::time::Duration;

use codex_core::Clock;
use futures::future::BoxFuture;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::timeline::Timeline;

/// Waits are this many times shorter than in a session. They are delays before repeats and grace periods.
const SPEED: u32 = 20;
const LONGEST_WAIT: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(crate) struct ReplayClock {
    timeline: Arc<Timeline>,
    zone: TimeZone,
    /// Whether waits take as long as they say, because tools run for real.
    is_live: bool,
}

impl ReplayClock {
    pub(crate) fn new(timeline: Arc<Timeline>, zone: &str, is_live: bool) -> Self {
        let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
        Self {
            timeline,
            zone,
            is_live,
        }
    }
}

impl Clock for ReplayClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.timeline.now()).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn elapsed(&self) -> Duration {
        let elapsed = self.timeline.now().saturating_sub(self.timeline.started());
        Duration::from_millis(u64::try_from(elapsed).unwrap_or_default())
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        if self.is_live {
            return Box::pin(tokio::time::sleep(duration));
        }
        Box::pin(tokio::time::sleep((duration / SPEED).min(LONGEST_WAIT)))
    }

    fn zone(&self) -> TimeZone {
        self.zone.clone()
    }

    fn jitter(&self) -> f64 {
        0.5
    }
}
