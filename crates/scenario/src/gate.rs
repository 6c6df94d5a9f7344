//! A place in a script where it stops until the test says so.

use std::sync::Arc;

use tokio::sync::watch;

/// Stops whoever comes to it until it is opened. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    reached: watch::Sender<bool>,
    open: watch::Sender<bool>,
}

impl Gate {
    /// A closed gate.
    #[allow(clippy::new_without_default)] // Two defaults would be two gates.
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            reached: watch::Sender::new(false),
            open: watch::Sender::new(false),
        }))
    }

    /// Lets through who waits, and who comes later.
    pub fn open(&self) {
        self.0.open.send_replace(true);
    }

    /// Waits until somebody has come to the gate.
    pub async fn reached(&self) {
        wait(&self.0.reached).await;
    }

    /// Comes to the gate, and waits until it is open.
    pub async fn pass(&self) {
        self.0.reached.send_replace(true);
        wait(&self.0.open).await;
    }
}

async fn wait(flag: &watch::Sender<bool>) {
    // The sender is at hand, so that the channel cannot be closed.
    let _ = flag.subscribe().wait_for(|set| *set).await;
}
