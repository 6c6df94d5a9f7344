//! The interface for starting, resuming, forking, finding and closing threads.

use std::path::Path;
use std::sync::Arc;

use codex_protocol::{Op, ResponseItem, RolloutItem, ThreadId};
use codex_session_base::config::SessionConfig;
use codex_session_base::history::UnfinishedLines;
use codex_session_base::ports::Observers;
use codex_session_base::stored_thread::{StoredLines, StoredThread};

use super::first_lines::inherit;
use super::fork::{ForkAt, cut};
use super::started::{StartError, StartedThread};
use super::threads::{Ports, Threads};
use crate::session::Thread;
use crate::thread_origin::ThreadOrigin;

/// All threads of the process.
#[derive(Debug)]
pub struct ThreadManager(Arc<Threads>);

impl ThreadManager {
    /// A manager without threads.
    #[must_use]
    pub fn new(ports: Ports) -> Self {
        Self(Arc::new(Threads::new(ports, None)))
    }

    /// The same manager with observers.
    #[must_use]
    pub fn observed_by(self, observers: Option<Arc<dyn Observers>>) -> Self {
        Self(Arc::new(Threads::new(self.0.ports.clone(), observers)))
    }

    /// Starts a new thread.
    ///
    /// # Errors
    /// The configuration is not usable.
    pub fn start(&self, config: SessionConfig) -> Result<StartedThread, StartError> {
        self.start_with(config, Vec::new())
    }

    /// Starts a new thread whose history begins with these items.
    ///
    /// # Errors
    /// The configuration is not usable.
    pub fn start_with(
        &self,
        config: SessionConfig,
        items: Vec<ResponseItem>,
    ) -> Result<StartedThread, StartError> {
        let items = items.into_iter().map(RolloutItem::ResponseItem);
        self.launch(ThreadOrigin {
            lines: StoredLines::Read(items.collect()),
            ..ThreadOrigin::new(self.0.ports.ids.thread(), config)
        })
    }

    /// Resumes a thread in its own file. Reads the whole file before it returns.
    ///
    /// # Errors
    /// The file cannot be read, or the thread is loaded already.
    pub fn resume(&self, path: &Path, config: SessionConfig) -> Result<StartedThread, StartError> {
        // Replaying the events needs all lines.
        let stored = if config.options.replay_events {
            StoredThread::read_all(path)?
        } else {
            StoredThread::read(path, None, None, |_| {})?
        };
        self.resume_stored(stored, config)
    }

    /// Resumes a thread that was read just now.
    ///
    /// # Errors
    /// The thread is loaded already.
    pub fn resume_stored(
        &self,
        stored: StoredThread,
        mut config: SessionConfig,
    ) -> Result<StartedThread, StartError> {
        inherit(&mut config, &stored);
        let id = &stored.meta.id;
        if self.get(id).is_some() {
            return Err(StartError::AlreadyLoaded(id.clone()));
        }
        self.launch(ThreadOrigin::resumed(stored, config))
    }

    /// Starts a new thread with a copy of another one. Reads the whole file before it returns.
    ///
    /// # Errors
    /// The file of the other one cannot be read.
    pub fn fork(
        &self,
        source: &Path,
        at: ForkAt,
        mut config: SessionConfig,
    ) -> Result<StartedThread, StartError> {
        if at == ForkAt::End && !config.options.replay_events {
            return self.fork_stored(StoredThread::read(source, None, None, |_| {})?, config);
        }
        let stored = StoredThread::read_all(source)?;
        inherit(&mut config, &stored);
        config.identity.cache_root = Some(stored.meta.cache_root().clone());
        let lines = cut(stored.lines.into_iter().collect(), at);
        self.launch(ThreadOrigin {
            lines: StoredLines::Read(lines),
            forked_from: Some(stored.meta.id),
            ..ThreadOrigin::new(self.0.ports.ids.thread(), config)
        })
    }

    /// Starts a new thread with a copy of one that was read just now.
    ///
    /// # Errors
    /// The configuration is not usable.
    pub fn fork_stored(
        &self,
        stored: StoredThread,
        mut config: SessionConfig,
    ) -> Result<StartedThread, StartError> {
        inherit(&mut config, &stored);
        let id = self.0.ports.ids.thread();
        let cut_turn = stored.unfinished.as_ref();
        let cut_turn = cut_turn.and_then(UnfinishedLines::turn_id);
        // What a side thread takes over are turns of another thread.
        let cut_turn = cut_turn.filter(|_| !config.identity.is_side_thread);
        let mut origin = ThreadOrigin::forked(id, stored, config);
        origin.cut_turn = cut_turn;
        self.launch(origin)
    }

    fn launch(&self, origin: ThreadOrigin) -> Result<StartedThread, StartError> {
        self.0.launch(origin)
    }

    /// A running thread.
    #[must_use]
    pub fn get(&self, id: &ThreadId) -> Option<Thread> {
        self.0.get(id)
    }

    /// The size of the context window of a model in tokens, if it is known.
    #[must_use]
    pub fn context_window(&self, model: &str) -> Option<i64> {
        self.0.ports.model.resolve(model).info.context_window
    }

    /// The ids of all running threads.
    #[must_use]
    pub fn ids(&self) -> Vec<ThreadId> {
        self.0.ids()
    }

    /// Closes a thread and waits for its end. Returns false if it did not run.
    pub async fn close(&self, id: &ThreadId) -> bool {
        let Some(thread) = self.0.remove(id) else {
            return false;
        };
        let was_open = thread.submit(Op::Shutdown).await.is_ok();
        thread.calls.closed().await;
        was_open
    }
}
