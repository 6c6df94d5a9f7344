//! What everything here runs on.

use anyhow::Context as _;
use tokio::runtime::{Builder, Runtime};

/// One thread for all that does not take long; the rest is given threads of its own. A second one would
/// hardly ever have work, and each time one had to be woken for the other that would cost more than what
/// it does. What would hold it up belongs to `spawn_blocking`: everybody else waits meanwhile.
pub(crate) fn start() -> anyhow::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the runtime")
}
