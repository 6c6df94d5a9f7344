//! Threads that were just started.

use std::path::PathBuf;

use codex_protocol::{ThreadId, UserMessageEvent};
use codex_rollout::{LockError, RolloutLoadError};
use codex_session_base::config::SessionConfig;
use codex_session_base::events::EventReceiver;
use codex_session_base::history::UnfinishedTurn;
use tokio::sync::mpsc;

use crate::session::Thread;

/// A thread that was just started.
#[derive(Debug)]
pub struct StartedThread {
    /// The thread.
    pub thread: Thread,
    /// Its events. The first is `session_configured`.
    pub events: EventReceiver,
    /// The agents that it starts. If this is dropped, it can start none.
    pub agents: mpsc::Receiver<Box<SpawnedAgent>>,
    /// Its last turn, if that had not ended when the process of the thread did. It can be continued until another turn
    /// starts.
    pub unfinished: Option<UnfinishedTurn>,
}

/// Why a thread was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The working folder is relative.
    #[error("cwd is not absolute: {0}")]
    RelativeCwd(PathBuf),
    /// Messages and files cannot name such a folder.
    #[error("cwd is not valid UTF-8: {0:?}")]
    UnnamedCwd(PathBuf),
    /// The file cannot be read.
    #[error(transparent)]
    Load(#[from] RolloutLoadError),
    /// It is loaded already; go on with that one.
    #[error("thread {0} is already loaded")]
    AlreadyLoaded(ThreadId),
    /// Another process writes the thread.
    #[error(transparent)]
    InUse(#[from] LockError),
}

/// An agent that a thread started.
#[derive(Debug)]
pub struct SpawnedAgent {
    /// The agent and its events.
    pub started: StartedThread,
    /// The configuration that it was started with.
    pub config: Box<SessionConfig>,
    /// The first message of a person in the history that it continues; none if it is new.
    pub first: Option<UserMessageEvent>,
}
