//! When a thread that nobody uses is unloaded.

use tokio::time::Instant;

/// When a thread without subscribers is unloaded.
#[derive(Debug, Default)]
pub(super) struct Unloading {
    /// Whether it stays for a while, because the last client that left may come back to it.
    pub(super) is_delayed: bool,
    /// When it is unloaded, while it is idle and has no subscribers.
    pub(super) at: Option<Instant>,
}

impl Unloading {
    /// Waits until the thread is to be unloaded; forever if it is in use.
    pub(super) async fn due(&self) {
        match self.at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}
