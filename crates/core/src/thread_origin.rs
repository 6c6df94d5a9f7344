//! What a session is made from, and who makes it.

use std::error::Error;
use std::fmt::Debug;
use std::path::PathBuf;

use codex_protocol::{ResponseItem, ThreadId, UserMessageEvent};
use codex_session_base::agents::{AgentStartError, AgentTree, ResumedAgent};
use codex_session_base::config::SessionConfig;
use codex_session_base::events::EventReceiver;
use codex_session_base::history::UnfinishedLines;
use codex_session_base::stored_thread::{StoredLines, StoredThread};
use codex_session_base::thread::AgentThread;

/// What a session is made from.
#[derive(Debug)]
pub(crate) struct ThreadOrigin {
    pub(crate) id: ThreadId,
    pub(crate) config: SessionConfig,
    /// The lines that the history is rebuilt from.
    pub(crate) lines: StoredLines,
    pub(crate) file: RolloutFile,
    pub(crate) forked_from: Option<ThreadId>,
    /// What a stored thread was forked from when it was made.
    pub(crate) stored_fork_source: Option<ThreadId>,
    /// Recorded after the lines.
    pub(crate) note: Option<ResponseItem>,
    /// The turn that had not ended when the process of the thread did.
    pub(crate) unfinished: Option<UnfinishedLines>,
    pub(crate) agent_tree: AgentTree,
    /// The turn without an end that a fork takes along. It ends in the fork.
    pub(crate) cut_turn: Option<String>,
    /// Agents of the thread that are loaded with it.
    pub(crate) agents: Vec<ResumedAgent>,
}

/// The rollout of a session.
#[derive(Debug)]
pub(crate) enum RolloutFile {
    New,
    /// A new file that begins with the first bytes of another one.
    Copy {
        source: PathBuf,
        length: u64,
    },
    /// An existing file of this length.
    Existing {
        path: PathBuf,
        length: u64,
    },
}

impl ThreadOrigin {
    /// A new thread.
    pub(crate) fn new(id: ThreadId, config: SessionConfig) -> Self {
        Self {
            id,
            config,
            lines: StoredLines::Read(Vec::new()),
            file: RolloutFile::New,
            forked_from: None,
            stored_fork_source: None,
            note: None,
            unfinished: None,
            cut_turn: None,
            agent_tree: AgentTree::default(),
            agents: Vec::new(),
        }
    }

    /// A stored thread, continued in its own file.
    pub(crate) fn resumed(stored: StoredThread, mut config: SessionConfig) -> Self {
        config
            .identity
            .cache_root
            .clone_from(&stored.meta.cache_root);
        Self {
            lines: stored.lines,
            file: RolloutFile::Existing {
                path: stored.path,
                length: stored.size,
            },
            unfinished: stored.unfinished,
            stored_fork_source: stored.meta.forked_from_id,
            ..Self::new(stored.meta.id, config)
        }
    }

    /// A new thread with all that a stored one holds.
    pub(crate) fn forked(id: ThreadId, stored: StoredThread, mut config: SessionConfig) -> Self {
        config.identity.cache_root = Some(stored.meta.cache_root().clone());
        Self {
            lines: stored.lines,
            file: RolloutFile::Copy {
                source: stored.path,
                length: stored.length,
            },
            forked_from: Some(stored.meta.id),
            ..Self::new(id, config)
        }
    }
}

/// Why a thread of a session was not launched. The texts are for models.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    #[error("the engine is going away")]
    EngineGone,
    #[error("nobody would hear the agent")]
    NoSubscriber,
    #[error(transparent)]
    Start(Box<dyn Error + Send + Sync>),
}

impl From<LaunchError> for AgentStartError {
    fn from(error: LaunchError) -> Self {
        Self::Launch(Box::new(error))
    }
}

/// Launches threads for a session.
pub(crate) trait AgentLauncher: Debug + Send + Sync {
    /// Launches an agent and passes it on to the subscriber of the thread. `first` is the first message of a person in the
    /// history that it continues.
    fn launch_agent(
        &self,
        origin: ThreadOrigin,
        first: Option<UserMessageEvent>,
    ) -> Result<AgentThread, LaunchError>;

    /// Launches a thread that nobody sees.
    fn launch_hidden(
        &self,
        origin: ThreadOrigin,
    ) -> Result<(AgentThread, EventReceiver), LaunchError>;

    fn is_loaded(&self, id: &ThreadId) -> bool;
}
