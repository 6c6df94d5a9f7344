//! Time and chance, as the client needs them: injected, so that tests neither wait nor guess.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Zoned;

/// The time of day, waiting, and jitter.
#[async_trait]
pub trait Clock: Send + Sync + fmt::Debug {
    /// The present, in the time zone in which a person wants to read times.
    fn now(&self) -> Zoned;

    /// Waits.
    async fn sleep(&self, duration: Duration);

    /// The factor that keeps many clients from repeating at the same moment: 0.9 to 1.1.
    fn jitter(&self) -> f64;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Zoned {
        Zoned::now()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn jitter(&self) -> f64 {
        0.9 + 0.2 * fastrand::f64()
    }
}
