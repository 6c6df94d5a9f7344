//! The requests of tools about the agents of their thread.

use codex_protocol::{AgentPath, ResponseItem, RolloutItem, ThreadId, UserInput, UserMessageEvent};
use tokio::sync::oneshot;

use super::children::{AgentHandle, ChildAgent};
use super::team::Reservation;
use crate::config::SessionConfig;
use crate::stored_thread::StoredThread;

/// What tools ask about the agents of their thread.
#[derive(Debug)]
pub(crate) enum AgentRequest {
    /// Starts one.
    Spawn(Box<NewAgent>, oneshot::Sender<Result<AgentHandle, String>>),
    /// Finds those that are open among these.
    Find(Vec<ThreadId>, oneshot::Sender<Vec<Option<AgentHandle>>>),
    /// Takes one out, to close it.
    Take(ThreadId, oneshot::Sender<Option<ChildAgent>>),
    /// Loads one that was closed.
    Resume(
        Box<ResumedAgent>,
        oneshot::Sender<Result<AgentHandle, String>>,
    ),
    /// Starts one that has a path.
    SpawnMember(
        Box<NewMember>,
        oneshot::Sender<Result<StartedMember, String>>,
    ),
    /// Loads one that has a path.
    LoadMember(Box<StoredAgent>, oneshot::Sender<Result<(), String>>),
}

/// An agent with a path that is to be started.
#[derive(Debug)]
pub(crate) struct NewMember {
    pub(crate) config: SessionConfig,
    pub(crate) path: AgentPath,
    pub(crate) role: Option<String>,
    /// The names to choose from; our own if there are none.
    pub(crate) nicknames: Vec<String>,
    /// The lines that it begins with.
    pub(crate) lines: Vec<RolloutItem>,
    /// The first message of a person in them.
    pub(crate) first: Option<UserMessageEvent>,
}

/// An agent with a path that was started.
#[derive(Debug)]
pub(crate) struct StartedMember {
    pub(crate) id: ThreadId,
    pub(crate) nickname: String,
}

/// An agent with a path that is to be loaded.
#[derive(Debug)]
pub(crate) struct StoredAgent {
    pub(crate) config: SessionConfig,
    pub(crate) source: AgentSource,
    pub(crate) reservation: Reservation,
}

/// An agent that is to be started.
#[derive(Debug)]
pub(crate) struct NewAgent {
    pub(crate) config: SessionConfig,
    pub(crate) role: Option<String>,
    /// The names to choose from; our own if there are none.
    pub(crate) nicknames: Vec<String>,
    pub(crate) fork: Option<AgentFork>,
    pub(crate) input: Vec<UserInput>,
    /// The turn whose work it is part of.
    pub(crate) root_turn_id: String,
    /// What it is, if it works on an item of a job.
    pub(crate) worker: Option<JobWorker>,
}

/// An agent that works on an item of a job. It has no name, and the model is not told when it is done.
#[derive(Debug)]
pub(crate) struct JobWorker {
    /// The id of its thread.
    pub(crate) id: ThreadId,
    /// The origin of its thread.
    pub(crate) label: String,
}

/// The thread that an agent continues.
#[derive(Debug)]
pub(crate) struct AgentFork {
    pub(crate) source: AgentSource,
    /// Tells the model that it is now an agent.
    pub(crate) note: ResponseItem,
}

/// A stored thread, and the first message of a person in it.
#[derive(Debug)]
pub(crate) struct AgentSource {
    pub(crate) thread: StoredThread,
    pub(crate) first: Option<UserMessageEvent>,
}

/// An agent that is to be loaded again.
#[derive(Debug)]
pub(crate) struct ResumedAgent {
    pub(crate) config: SessionConfig,
    pub(crate) source: AgentSource,
    /// Its own agents that were open.
    pub(crate) agents: Vec<ResumedAgent>,
}
