//! Events about the agents that a thread spawns and works with.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::sparse;
use serde::{Deserialize, Serialize};

use crate::ids::ThreadId;
use crate::settings::ReasoningEffort;

/// How an agent is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// It is starting.
    PendingInit,
    /// It works.
    Running,
    /// It was interrupted, and can go on.
    Interrupted,
    /// It is done; this was the last thing that it said.
    Completed(Option<String>),
    /// It failed; this is why.
    Errored(String),
    /// It was closed.
    Shutdown,
    /// There is no such agent.
    NotFound,
}

impl AgentStatus {
    /// Whether nothing more is to be expected of the agent unless it is told something.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::PendingInit | Self::Running | Self::Interrupted)
    }
}

/// An agent, and what it is called.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabAgentRef {
    /// Its thread.
    pub thread_id: ThreadId,
    /// The name it is shown under.
    pub agent_nickname: Option<String>,
    /// The role it was given.
    #[serde(alias = "agent_type")]
    pub agent_role: Option<String>,
}

/// An agent, what it is called, and how it is doing.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabAgentStatusEntry {
    /// Its thread.
    pub thread_id: ThreadId,
    /// The name it is shown under.
    pub agent_nickname: Option<String>,
    /// The role it was given.
    #[serde(alias = "agent_type")]
    pub agent_role: Option<String>,
    /// How it is doing.
    pub status: AgentStatus,
}

/// An agent is being spawned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabAgentSpawnBeginEvent {
    /// The call.
    pub call_id: String,
    /// The thread that spawns it.
    pub sender_thread_id: ThreadId,
    /// What it is told.
    pub prompt: String,
    /// The model that was asked for; empty for none in particular.
    #[serde(default)]
    pub model: String,
    /// The reasoning effort that was asked for.
    #[serde(default = "medium")]
    pub reasoning_effort: ReasoningEffort,
}

/// An agent was spawned, or not.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabAgentSpawnEndEvent {
    /// The call.
    pub call_id: String,
    /// The thread that spawned it.
    pub sender_thread_id: ThreadId,
    /// Its thread; null if it could not be spawned.
    #[serde(default, skip_serializing_if = "never")]
    pub new_thread_id: Option<ThreadId>,
    /// The name it is shown under.
    pub new_agent_nickname: Option<String>,
    /// The role it was given.
    pub new_agent_role: Option<String>,
    /// What it was told.
    pub prompt: String,
    /// The model that it uses.
    #[serde(default)]
    pub model: String,
    /// The reasoning effort that it uses.
    #[serde(default = "medium")]
    pub reasoning_effort: ReasoningEffort,
    /// How it is doing.
    pub status: AgentStatus,
}

/// Something is being said to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabAgentInteractionBeginEvent {
    /// The call.
    pub call_id: String,
    /// The thread that speaks.
    pub sender_thread_id: ThreadId,
    /// The thread that is spoken to.
    pub receiver_thread_id: ThreadId,
    /// What is said.
    pub prompt: String,
}

/// Something was said to an agent.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabAgentInteractionEndEvent {
    /// The call.
    pub call_id: String,
    /// The thread that spoke.
    pub sender_thread_id: ThreadId,
    /// The thread that was spoken to.
    pub receiver_thread_id: ThreadId,
    /// The name that the receiver is shown under.
    pub receiver_agent_nickname: Option<String>,
    /// The role that the receiver was given.
    pub receiver_agent_role: Option<String>,
    /// What was said.
    pub prompt: String,
    /// How the receiver is doing.
    pub status: AgentStatus,
}

/// The model waits for agents.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabWaitingBeginEvent {
    /// The thread that waits.
    pub sender_thread_id: ThreadId,
    /// The threads that it waits for.
    pub receiver_thread_ids: Vec<ThreadId>,
    /// The same, and what they are called.
    #[serde(default)]
    pub receiver_agents: Vec<CollabAgentRef>,
    /// The call.
    pub call_id: String,
}

/// The model waits for agents no more.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabWaitingEndEvent {
    /// The thread that waited.
    pub sender_thread_id: ThreadId,
    /// The call.
    pub call_id: String,
    /// The agents that are done, and what they are called.
    #[serde(default)]
    pub agent_statuses: Vec<CollabAgentStatusEntry>,
    /// The agents that are done.
    pub statuses: BTreeMap<ThreadId, AgentStatus>,
}

/// An agent is being closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabCloseBeginEvent {
    /// The call.
    pub call_id: String,
    /// The thread that closes it.
    pub sender_thread_id: ThreadId,
    /// The thread that is closed.
    pub receiver_thread_id: ThreadId,
}

/// An agent was closed.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabCloseEndEvent {
    /// The call.
    pub call_id: String,
    /// The thread that closed it.
    pub sender_thread_id: ThreadId,
    /// The thread that was closed.
    pub receiver_thread_id: ThreadId,
    /// The name that it was shown under.
    pub receiver_agent_nickname: Option<String>,
    /// The role that it was given.
    pub receiver_agent_role: Option<String>,
    /// How it was doing before.
    pub status: AgentStatus,
}

/// An agent is being resumed.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabResumeBeginEvent {
    /// The call.
    pub call_id: String,
    /// The thread that resumes it.
    pub sender_thread_id: ThreadId,
    /// The thread that is resumed.
    pub receiver_thread_id: ThreadId,
    /// The name that it is shown under.
    pub receiver_agent_nickname: Option<String>,
    /// The role that it was given.
    pub receiver_agent_role: Option<String>,
}

/// An agent was resumed.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabResumeEndEvent {
    /// The call.
    pub call_id: String,
    /// The thread that resumed it.
    pub sender_thread_id: ThreadId,
    /// The thread that was resumed.
    pub receiver_thread_id: ThreadId,
    /// The name that it is shown under.
    pub receiver_agent_nickname: Option<String>,
    /// The role that it was given.
    pub receiver_agent_role: Option<String>,
    /// How it is doing now.
    pub status: AgentStatus,
}

fn medium() -> ReasoningEffort {
    ReasoningEffort::Medium
}

/// For the one field of a sparse event that is written also when it is null.
fn never<T>(_: &Option<T>) -> bool {
    false
}
