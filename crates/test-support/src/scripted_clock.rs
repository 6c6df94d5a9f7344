//! A clock that never waits and remembers for how long it was asked to.

use std::time::Duration;

use async_trait::async_trait;
use codex_model_client::Clock;
use jiff::Zoned;
use parking_lot::Mutex;

use crate::Gate;

/// The clock: it stands still, and its jitter is always in the middle.
#[derive(Debug, Default)]
pub struct ScriptedClock {
    now: Zoned,
    slept: Mutex<Vec<Duration>>,
    gate: Option<Gate>,
}

impl ScriptedClock {
    /// A clock whose waits end when the gate is opened.
    pub fn waiting_for(gate: Gate) -> Self {
        Self {
            gate: Some(gate),
            ..Self::default()
        }
    }

    /// The waits so far.
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
        if let Some(gate) = &self.gate {
            gate.pass().await;
        }
    }

    fn jitter(&self) -> f64 {
        1.0
    }
}
