//! One run: both phases, in the background of a thread that has started.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use codex_config::MemorySettings;
use codex_core::{SessionConfig, ThreadManager};
use codex_login::Accounts;
use codex_protocol::ThreadId;
use codex_thread_store::ThreadStore;
use futures::StreamExt;
use thiserror::Error;

use crate::idle_threads::idle_threads;
use crate::store::MemoryStore;

/// The number of threads that notes are taken of at the same time.
const AT_ONCE: usize = 8;

/// A blocking task was stopped, because the program ends.
#[derive(Debug, Error)]
#[error("the program is ending")]
pub(crate) struct Stopped;

/// What memories are made with.
#[derive(Debug)]
pub struct MemoryRun {
    /// The database.
    pub store: Arc<MemoryStore>,
    /// The threads of the user.
    pub threads: ThreadStore,
    /// The engine for hidden threads.
    pub manager: Arc<ThreadManager>,
    /// The configuration of the thread that has started.
    pub config: SessionConfig,
    /// What the user wants.
    pub settings: MemorySettings,
    /// The thread that has started. No notes are taken of it.
    pub thread: ThreadId,
    /// The account whose limits are used up by it, if its models are the account's.
    pub accounts: Option<Arc<Accounts>>,
}

impl MemoryRun {
    /// Takes notes of threads and consolidates them, unless this process is doing so already. Failures are logged, and the
    /// work is repeated later.
    pub async fn run(self) {
        if self.store.is_running.swap(true, Ordering::AcqRel) {
            return;
        }
        let _running = RunningMark(Arc::clone(&self.store));
        if self.is_short_of_limits().await {
            tracing::info!("no memories are made: too little of a limit of the account is left");
            return;
        }
        let found = idle_threads(&self.store, &self.threads, &self.settings, &self.thread).await;
        match found {
            Ok(found) => {
                let extracting = found.into_iter().map(|idle| self.extract(idle));
                let extracting = futures::stream::iter(extracting);
                extracting.buffer_unordered(AT_ONCE).count().await;
            }
            Err(error) => {
                tracing::warn!(%error, "the threads for memories are not known");
                return;
            }
        }
        if let Err(error) = self.consolidate().await {
            tracing::warn!(%error, "memories were not consolidated");
        }
    }
}

/// Resets the mark at the end of a run, also if it is dropped.
struct RunningMark(Arc<MemoryStore>);

impl Drop for RunningMark {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::Release);
    }
}

/// Runs work that blocks.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Stopped> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Stopped)
}
