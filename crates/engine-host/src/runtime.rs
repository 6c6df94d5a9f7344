//! The async runtime: a single thread. Tasks are short, so a second thread would rarely have work, and waking it would
//! cost more than the task itself. Anything that may block uses `spawn_blocking`, because it would delay all other tasks.

use std::time::Duration;

use anyhow::Context as _;
use tokio::runtime::{Builder, Runtime};

/// How long a thread for blocking work waits for more.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// A runtime on the current thread.
pub fn here() -> anyhow::Result<Runtime> {
    start(&mut Builder::new_current_thread())
}

/// A runtime for a command that prints progress: slow output delays only the printing.
pub fn beside_output() -> anyhow::Result<Runtime> {
    start(Builder::new_multi_thread().worker_threads(1))
}

fn start(builder: &mut Builder) -> anyhow::Result<Runtime> {
    let runtime = builder
        .enable_all()
        .thread_keep_alive(KEEP_ALIVE)
        .build()
        .context("cannot start the runtime")?;
    // The runtime itself would panic.
    let thread = std::thread::Builder::new().spawn(|| ());
    drop(thread.context("the system has no threads left")?.join());
    drop(runtime.spawn_blocking(|| ()));
    runtime.spawn(keep_one_thread());
    Ok(runtime)
}

/// Keeps one thread for blocking work. If the system has no threads left, work waits for those that there are; without any, it
/// would fail.
async fn keep_one_thread() {
    loop {
        let _ = tokio::task::spawn_blocking(|| ()).await;
        tokio::time::sleep(KEEP_ALIVE / 2).await;
    }
}
