//! Time and randomness, injected so that tests are deterministic and do not wait.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Zoned;

/// Provides time, sleep and jitter.
#[async_trait]
pub trait Clock: Send + Sync + fmt::Debug {
    /// The current time, in the user's time zone.
    fn now(&self) -> Zoned;

    async fn sleep(&self, duration: Duration);

    /// A factor from 0.9 to 1.1 that keeps clients from retrying at the same moment.
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
