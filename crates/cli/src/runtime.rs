//! The async runtime: a single thread. Tasks are short, so a second thread would rarely have work, and waking it would
//! cost more than the task itself. Anything that may block uses `spawn_blocking`, because it would delay all other tasks.

use anyhow::Context as _;
use tokio::runtime::{Builder, Runtime};

/// A runtime on the current thread.
pub(crate) fn here() -> anyhow::Result<Runtime> {
    start(&mut Builder::new_current_thread())
}

/// A runtime for a command that prints progress: slow output delays only the printing.
pub(crate) fn beside_output() -> anyhow::Result<Runtime> {
    start(Builder::new_multi_thread().worker_threads(1))
}

fn start(builder: &mut Builder) -> anyhow::Result<Runtime> {
    builder
        .enable_all()
        .build()
        .context("cannot start the runtime")
}
