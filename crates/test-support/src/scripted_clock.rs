//! A clock that does not wait and records the requested durations.

use std::time::Duration;

use async_trait::async_trait;
use codex_model_client::Clock;
use jiff::Zoned;
use parking_lot::Mutex;

use crate::Latch;

/// A clock with a fixed time and a fixed jitter in the middle of its range.
#[derive(Debug, Default)]
pub struct ScriptedClock {
    now: Zoned,
    slept: Mutex<Vec<Duration>>,
    latch: Option<Latch>,
}

impl ScriptedClock {
    /// A clock whose waits end when the latch is opened.
    pub fn waiting_for(latch: Latch) -> Self {
        Self {
            latch: Some(latch),
            ..Self::default()
        }
    }

    /// The requested durations so far.
    pub fn slept(&self) -> Vec<Duration> {
        self.slept.lock().clone()
    }
}

#[async_trait]
impl Clock for ScriptedClock {
    fn now(&self) -> Zoned {
        self.now.clone()
    }

    async fn sleep(&self, duration: Duration) {
        self.slept.lock().push(duration);
        if let Some(latch) = &self.latch {
            latch.pass().await;
        }
    }

    fn jitter(&self) -> f64 {
        1.0
    }
}
