//! The requests of tools about the agents of their thread.

use std::error::Error;

use codex_protocol::{AgentPath, ResponseItem, RolloutItem, ThreadId, UserInput, UserMessageEvent};
use tokio::sync::oneshot;

use super::children::{AgentHandle, ChildAgent};
use super::team::{Reservation, TeamError};
use crate::config::SessionConfig;
use crate::stored_thread::StoredThread;

/// What tools ask about the agents of their thread.
#[derive(Debug)]
pub enum AgentRequest {
    /// Starts one.
    Spawn(
        Box<NewAgent>,
        oneshot::Sender<Result<AgentHandle, AgentStartError>>,
    ),
    /// Finds those that are open among these.
    Find(Vec<ThreadId>, oneshot::Sender<Vec<Option<AgentHandle>>>),
    /// Takes one out, to close it.
    Take(ThreadId, oneshot::Sender<Option<ChildAgent>>),
    /// Loads one that was closed.
    Resume(
        Box<ResumedAgent>,
        oneshot::Sender<Result<AgentHandle, AgentStartError>>,
    ),
    /// Starts one that has a path.
    SpawnMember(
        Box<NewMember>,
        oneshot::Sender<Result<StartedMember, AgentStartError>>,
    ),
    /// Loads one that has a path.
    LoadMember(
        Box<StoredAgent>,
        oneshot::Sender<Result<(), AgentStartError>>,
    ),
}

/// Why an agent was not started or loaded. The texts are for models.
#[derive(Debug, thiserror::Error)]
pub enum AgentStartError {
    #[error("agent thread limit reached (max {0})")]
    Limit(usize),
    #[error("agent with id {0} is in use")]
    InUse(ThreadId),
    #[error("thread {0} is no agent")]
    NoAgent(ThreadId),
    #[error("this thread is in no team")]
    NoTeam,
    #[error("the agent has ended")]
    Ended,
    #[error("the agent ended before it began")]
    EndedBeforeStart,
    #[error(transparent)]
    Team(#[from] TeamError),
    /// Its thread was not launched.
    #[error(transparent)]
    Launch(Box<dyn Error + Send + Sync>),
}

/// An agent with a path that is to be started.
#[derive(Debug)]
pub struct NewMember {
    pub config: SessionConfig,
    pub path: AgentPath,
    pub role: Option<String>,
    /// The names to choose from; our own if there are none.
    pub nicknames: Vec<String>,
    /// The lines that it begins with.
    pub lines: Vec<RolloutItem>,
    /// The first message of a person in them.
    pub first: Option<UserMessageEvent>,
}

/// An agent with a path that was started.
#[derive(Debug)]
pub struct StartedMember {
    pub id: ThreadId,
    pub nickname: String,
}

/// An agent with a path that is to be loaded.
#[derive(Debug)]
pub struct StoredAgent {
    pub config: SessionConfig,
    pub source: AgentSource,
    pub reservation: Reservation,
}

/// An agent that is to be started.
#[derive(Debug)]
pub struct NewAgent {
    pub config: SessionConfig,
    pub role: Option<String>,
    /// The names to choose from; our own if there are none.
    pub nicknames: Vec<String>,
    pub fork: Option<AgentFork>,
    pub input: Vec<UserInput>,
    /// The turn whose work it is part of.
    pub root_turn_id: String,
    /// What it is, if it works on an item of a job.
    pub worker: Option<JobWorker>,
}

/// An agent that works on an item of a job. It has no name, and the model is not told when it is done.
#[derive(Debug)]
pub struct JobWorker {
    /// The id of its thread.
    pub id: ThreadId,
    /// The origin of its thread.
    pub label: String,
}

/// The thread that an agent continues.
#[derive(Debug)]
pub struct AgentFork {
    pub source: AgentSource,
    /// Tells the model that it is now an agent.
    pub note: ResponseItem,
}

/// A stored thread, and the first message of a person in it.
#[derive(Debug)]
pub struct AgentSource {
    pub thread: StoredThread,
    pub first: Option<UserMessageEvent>,
}

/// An agent that is to be loaded again.
#[derive(Debug)]
pub struct ResumedAgent {
    pub config: SessionConfig,
    pub source: AgentSource,
    /// Its own agents that were open.
    pub agents: Vec<ResumedAgent>,
}
