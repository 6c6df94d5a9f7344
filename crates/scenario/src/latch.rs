//! A latch for tests: it holds a reply back until the test releases it.

use std::sync::Arc;

use tokio::sync::watch;

/// A latch that blocks a reply until it is opened. Clones share their state.
#[derive(Clone, Debug)]
pub struct Latch(Arc<LatchState>);

#[derive(Debug)]
struct LatchState {
    reached: watch::Sender<bool>,
    open: watch::Sender<bool>,
}

impl Latch {
    /// A closed latch.
    #[expect(
        clippy::new_without_default,
        reason = "two defaults would be two gates"
    )]
    pub fn new() -> Self {
        Self(Arc::new(LatchState {
            reached: watch::Sender::new(false),
            open: watch::Sender::new(false),
        }))
    }

    /// Opens the latch for current and future waiters.
    pub fn open(&self) {
        self.0.open.send_replace(true);
    }

    /// Waits until a reply has arrived at the latch.
    pub async fn reached(&self) {
        wait(&self.0.reached).await;
    }

    /// Reports the arrival, then waits until the latch is open.
    pub async fn pass(&self) {
        self.0.reached.send_replace(true);
        wait(&self.0.open).await;
    }
}

async fn wait(flag: &watch::Sender<bool>) {
    // The sender exists, so the channel cannot be closed.
    let _ = flag.subscribe().wait_for(|set| *set).await;
}
