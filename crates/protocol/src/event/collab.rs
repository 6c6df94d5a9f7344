//! Events about the agents that a thread spawns and works with.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentPath, ThreadId};
use crate::mark_members;
use crate::settings::ReasoningEffort;

/// The status of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    PendingInit,
    /// A turn is running.
    Running,
    /// The turn was interrupted. The agent accepts more input.
    Interrupted,
    /// The turn completed, with the last message.
    Completed(Option<String>),
    /// The turn failed, with the error message.
    Errored(String),
    /// The agent was closed.
    Shutdown,
    /// No agent has this id.
    NotFound,
}

impl AgentStatus {
    /// Whether the agent does nothing more without new input.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::PendingInit | Self::Running | Self::Interrupted)
    }
}

/// The thread and the names of an agent.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabAgentRef {
    /// The thread of the agent.
    pub thread_id: ThreadId,
    /// The display name.
    pub agent_nickname: Option<String>,
    /// The role.
    #[serde(alias = "agent_type")]
    pub agent_role: Option<String>,
}

/// The thread, the names and the status of an agent.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabAgentStatusEntry {
    /// The thread of the agent.
    pub thread_id: ThreadId,
    /// The display name.
    pub agent_nickname: Option<String>,
    /// The role.
    #[serde(alias = "agent_type")]
    pub agent_role: Option<String>,
    /// The current status.
    pub status: AgentStatus,
}

/// The spawn of an agent started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabAgentSpawnBeginEvent {
    pub call_id: String,
    /// The thread of the caller.
    pub sender_thread_id: ThreadId,
    /// The first message to the agent.
    pub prompt: String,
    /// The requested model; empty if none was requested.
    #[serde(default)]
    pub model: String,
    /// The requested reasoning effort.
    #[serde(default = "medium")]
    pub reasoning_effort: ReasoningEffort,
}

/// The spawn of an agent ended.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabAgentSpawnEndEvent {
    pub call_id: String,
    /// The thread of the caller.
    pub sender_thread_id: ThreadId,
    /// The thread of the agent; null if the spawn failed.
    #[serde(default, skip_serializing_if = "never")]
    pub new_thread_id: Option<ThreadId>,
    /// The display name.
    pub new_agent_nickname: Option<String>,
    /// The role.
    pub new_agent_role: Option<String>,
    /// The first message to the agent.
    pub prompt: String,
    /// The model of the agent.
    #[serde(default)]
    pub model: String,
    /// The reasoning effort of the agent.
    #[serde(default = "medium")]
    pub reasoning_effort: ReasoningEffort,
    /// The current status.
    pub status: AgentStatus,
}

/// A message to an agent started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabAgentInteractionBeginEvent {
    pub call_id: String,
    /// The thread of the sender.
    pub sender_thread_id: ThreadId,
    /// The thread of the receiver.
    pub receiver_thread_id: ThreadId,
    /// The message.
    pub prompt: String,
}

/// A message to an agent was delivered, or could not be.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabAgentInteractionEndEvent {
    pub call_id: String,
    /// The thread of the sender.
    pub sender_thread_id: ThreadId,
    /// The thread of the receiver.
    pub receiver_thread_id: ThreadId,
    /// The display name of the receiver.
    pub receiver_agent_nickname: Option<String>,
    /// The role of the receiver.
    pub receiver_agent_role: Option<String>,
    /// The message.
    pub prompt: String,
    /// The current status of the receiver.
    pub status: AgentStatus,
}

/// A wait for agents started.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabWaitingBeginEvent {
    /// The waiting thread.
    pub sender_thread_id: ThreadId,
    /// The awaited threads.
    pub receiver_thread_ids: Vec<ThreadId>,
    /// The awaited threads with their names.
    #[serde(default)]
    pub receiver_agents: Vec<CollabAgentRef>,
    pub call_id: String,
}

/// A wait for agents ended.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabWaitingEndEvent {
    /// The waiting thread.
    pub sender_thread_id: ThreadId,
    pub call_id: String,
    /// The agents with a final status, with their names.
    #[serde(default)]
    pub agent_statuses: Vec<CollabAgentStatusEntry>,
    /// The final statuses by thread.
    pub statuses: BTreeMap<ThreadId, AgentStatus>,
}

/// The closing of an agent started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabCloseBeginEvent {
    pub call_id: String,
    /// The thread of the caller.
    pub sender_thread_id: ThreadId,
    /// The thread of the agent.
    pub receiver_thread_id: ThreadId,
}

/// The closing of an agent ended.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabCloseEndEvent {
    pub call_id: String,
    /// The thread of the caller.
    pub sender_thread_id: ThreadId,
    /// The thread of the agent.
    pub receiver_thread_id: ThreadId,
    /// The display name.
    pub receiver_agent_nickname: Option<String>,
    /// The role.
    pub receiver_agent_role: Option<String>,
    /// The status before it was closed.
    pub status: AgentStatus,
}

/// The resumption of an agent started.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabResumeBeginEvent {
    pub call_id: String,
    /// The thread of the caller.
    pub sender_thread_id: ThreadId,
    /// The thread of the agent.
    pub receiver_thread_id: ThreadId,
    /// The display name.
    pub receiver_agent_nickname: Option<String>,
    /// The role.
    pub receiver_agent_role: Option<String>,
}

/// The resumption of an agent ended.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollabResumeEndEvent {
    pub call_id: String,
    /// The thread of the caller.
    pub sender_thread_id: ThreadId,
    /// The thread of the agent.
    pub receiver_thread_id: ThreadId,
    /// The display name.
    pub receiver_agent_nickname: Option<String>,
    /// The role.
    pub receiver_agent_role: Option<String>,
    /// The status after the resumption.
    pub status: AgentStatus,
}

/// Something happened with an agent that has a path.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubAgentActivityEvent {
    /// The call that caused it, or an id of its own.
    pub event_id: String,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub occurred_at_ms: i64,
    /// The thread of the agent.
    pub agent_thread_id: ThreadId,
    /// Its place in the tree of agents.
    pub agent_path: AgentPath,
    /// What happened.
    pub kind: SubAgentActivityKind,
    /// Whether the agent was ended for good, with those below it.
    #[serde(default)]
    pub closed: bool,
    /// The model of an agent that was started.
    pub model: Option<String>,
    /// The reasoning effort of an agent that was started.
    pub reasoning_effort: Option<ReasoningEffort>,
}

/// What happened with an agent that has a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = mark_members::<Self>)]
pub enum SubAgentActivityKind {
    /// It was started.
    Started,
    /// It was sent a message.
    Interacted,
    /// Its turn was interrupted.
    Interrupted,
    /// Its turn ended.
    #[since("0.169")]
    Completed,
}

fn medium() -> ReasoningEffort {
    ReasoningEffort::Medium
}

/// For a field of a sparse event that is written even if it is null.
fn never<T>(_: &Option<T>) -> bool {
    false
}
