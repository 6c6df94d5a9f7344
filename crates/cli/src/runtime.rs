//! What everything here runs on: one thread for all that does not take long; the rest is given threads of
//! its own. A second one would hardly ever have work, and each time one had to be woken for the other that
//! would cost more than what it does. What would hold it up belongs to `spawn_blocking`: everybody else
//! waits meanwhile.

use anyhow::Context as _;
use tokio::runtime::{Builder, Runtime};

/// On the thread that waits for the end of it all.
pub(crate) fn here() -> anyhow::Result<Runtime> {
    start(&mut Builder::new_current_thread())
}

/// For a command that prints what happens: who reads that slowly holds up the printing only.
pub(crate) fn beside_output() -> anyhow::Result<Runtime> {
    start(Builder::new_multi_thread().worker_threads(1))
}

fn start(builder: &mut Builder) -> anyhow::Result<Runtime> {
    builder
        .enable_all()
        .build()
        .context("cannot start the runtime")
}
