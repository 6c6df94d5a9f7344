//! All threads of the process: starting, resuming, forking, finding and closing them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_mcp_client::Connector;
use codex_protocol::{Op, ResponseItem, RolloutItem, ThreadId};
use codex_rollout::{LoadError, LockError, RolloutWriter};
use tokio::sync::mpsc;

use crate::agents::{AgentTree, SpawnedAgent};
use crate::beginning::{RolloutFile, inherit};
use crate::config::SessionConfig;
use crate::events::Events;
use crate::launch::{ThreadOrigin, Threads};
use crate::ports::{Clock, Ids, Model, Observers, Processes};
use crate::stored::{StoredLines, StoredThread};
use crate::thread::Thread;

/// What the engine works with in this process.
#[derive(Clone, Debug)]
pub struct Ports {
    /// The models.
    pub model: Arc<dyn Model>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn Ids>,
    /// Processes.
    pub processes: Arc<dyn Processes>,
    /// Connects to MCP servers; without it there are none.
    pub mcp: Option<Connector>,
    /// Writes the rollouts.
    pub writer: RolloutWriter,
}

/// Why there is no thread.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The working folder is relative.
    #[error("cwd is not absolute: {0}")]
    RelativeCwd(PathBuf),
    /// The file cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It is loaded already; go on with that one.
    #[error("thread {0} is already loaded")]
    AlreadyLoaded(ThreadId),
    /// Another process goes on with it.
    #[error(transparent)]
    InUse(#[from] LockError),
}

/// A thread that was just started.
#[derive(Debug)]
pub struct StartedThread {
    /// The thread.
    pub thread: Thread,
    /// Its events. The first is `session_configured`.
    pub events: Events,
    /// The agents that it starts. Who does not take them lets it start none.
    pub agents: mpsc::Receiver<SpawnedAgent>,
}

/// How much of a thread a fork takes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkAt {
    /// All of it.
    End,
    /// What comes before the n-th user message, counted from 0.
    BeforeUserMessage(usize),
}

/// All threads of the process.
#[derive(Debug)]
pub struct ThreadManager(Arc<Threads>);

impl ThreadManager {
    /// No threads yet.
    #[must_use]
    pub fn new(ports: Ports) -> Self {
        Self(Arc::new(Threads::new(ports, None)))
    }

    /// The same, with every thread shown to those who may want to watch it.
    #[must_use]
    pub fn observed_by(self, observers: Option<Arc<dyn Observers>>) -> Self {
        Self(Arc::new(Threads::new(self.0.ports.clone(), observers)))
    }

    /// Starts a new thread.
    ///
    /// # Errors
    /// The configuration is not usable.
    pub fn start(&self, config: SessionConfig) -> Result<StartedThread, StartError> {
        let id = self.0.ports.ids.thread();
        self.0.launch(ThreadOrigin {
            id,
            config,
            lines: StoredLines::Read(Vec::new()),
            file: RolloutFile::New,
            forked_from: None,
            note: None,
            agent_tree: AgentTree::default(),
        })
    }

    /// Starts a new thread that goes on from these items.
    ///
    /// # Errors
    /// The configuration is not usable.
    pub fn start_with(
        &self,
        config: SessionConfig,
        items: Vec<ResponseItem>,
    ) -> Result<StartedThread, StartError> {
        let id = self.0.ports.ids.thread();
        let items = items.into_iter().map(RolloutItem::ResponseItem);
        self.0.launch(ThreadOrigin {
            id,
            config,
            lines: StoredLines::Read(items.collect()),
            file: RolloutFile::New,
            forked_from: None,
            note: None,
            agent_tree: AgentTree::default(),
        })
    }

    /// Loads a thread and goes on with it in the same file. Reads the whole file before it returns.
    ///
    /// # Errors
    /// The file cannot be read, or the thread is loaded already.
    pub fn resume(&self, path: &Path, config: SessionConfig) -> Result<StartedThread, StartError> {
        // Who wants all events again has to be given them.
        let stored = match config.replay_events {
            true => StoredThread::read_all(path)?,
            false => StoredThread::read(path, None, |_| {})?,
        };
        self.resume_stored(stored, config)
    }

    /// Goes on with a thread that was read just now.
    ///
    /// # Errors
    /// The thread is loaded already.
    pub fn resume_stored(
        &self,
        stored: StoredThread,
        mut config: SessionConfig,
    ) -> Result<StartedThread, StartError> {
        inherit(&mut config, &stored);
        let id = stored.meta.id;
        if self.get(&id).is_some() {
            return Err(StartError::AlreadyLoaded(id));
        }
        let file = RolloutFile::Existing {
            path: stored.path,
            length: stored.size,
        };
        self.0.launch(ThreadOrigin {
            id,
            config,
            lines: stored.lines,
            file,
            forked_from: None,
            note: None,
            agent_tree: AgentTree::default(),
        })
    }

    /// Starts a new thread with what another one holds. Reads the whole file before it returns.
    ///
    /// # Errors
    /// The file of the other one cannot be read.
    pub fn fork(
        &self,
        source: &Path,
        at: ForkAt,
        mut config: SessionConfig,
    ) -> Result<StartedThread, StartError> {
        if at == ForkAt::End && !config.replay_events {
            return self.fork_stored(StoredThread::read(source, None, |_| {})?, config);
        }
        let stored = StoredThread::read_all(source)?;
        inherit(&mut config, &stored);
        let lines = StoredLines::Read(crate::fork::cut(stored.lines.into_iter().collect(), at));
        self.launch_fork(stored.meta.id, lines, RolloutFile::New, config)
    }

    /// Starts a new thread with all that another one holds, which was read just now.
    ///
    /// # Errors
    /// The configuration is not usable.
    pub fn fork_stored(
        &self,
        stored: StoredThread,
        mut config: SessionConfig,
    ) -> Result<StartedThread, StartError> {
        inherit(&mut config, &stored);
        let file = RolloutFile::Copy {
            source: stored.path,
            length: stored.length,
        };
        self.launch_fork(stored.meta.id, stored.lines, file, config)
    }

    fn launch_fork(
        &self,
        from: ThreadId,
        lines: StoredLines,
        file: RolloutFile,
        config: SessionConfig,
    ) -> Result<StartedThread, StartError> {
        self.0.launch(ThreadOrigin {
            id: self.0.ports.ids.thread(),
            config,
            forked_from: Some(from),
            lines,
            file,
            note: None,
            agent_tree: AgentTree::default(),
        })
    }

    /// A thread that runs.
    #[must_use]
    pub fn get(&self, id: &ThreadId) -> Option<Thread> {
        self.0.get(id)
    }

    /// The ids of all threads that run.
    #[must_use]
    pub fn ids(&self) -> Vec<ThreadId> {
        self.0.ids()
    }

    /// Closes a thread and waits until it is. False if it did not run.
    pub async fn close(&self, id: &ThreadId) -> bool {
        let Some(thread) = self.0.remove(id) else {
            return false;
        };
        let was_open = thread.submit(Op::Shutdown).await.is_ok();
        thread.mailbox.closed().await;
        was_open
    }
}
