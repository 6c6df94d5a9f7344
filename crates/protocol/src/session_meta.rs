//! The first line of a rollout: the metadata of its thread.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::dynamic_tool::DynamicToolSpec;
use crate::ids::{AgentPath, ThreadId};
use crate::session::{GitInfo, SessionSource};

/// The metadata of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionMeta {
    /// The thread.
    pub id: ThreadId,
    /// The thread that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from_id: Option<ThreadId>,
    /// The thread at whose requests the provider's cache of this one begins, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_root: Option<ThreadId>,
    /// Whether it is a side thread: it belongs to the thread that it was forked from.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attached_thread: bool,
    /// How its history is kept: `legacy` or `paginated`; absent in older records, and where it was not chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history_mode: Option<String>,
    /// When it was created, by RFC 3339 with milliseconds, in UTC.
    pub timestamp: String,
    /// Its working directory.
    pub cwd: String,
    /// The client that created it.
    pub originator: String,
    /// The version of the engine that created it.
    pub cli_version: String,
    /// The origin of the thread.
    #[serde(default)]
    pub source: SessionSource,
    /// What the client said about its origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_source: Option<String>,
    /// The name that it is shown under, if it is an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_nickname: Option<String>,
    /// The role that it was given, if it is an agent.
    #[serde(default, alias = "agent_type", skip_serializing_if = "Option::is_none")]
    pub agent_role: Option<String>,
    /// Its place in the tree of agents, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_path: Option<AgentPath>,
    /// The tools for agents that it has: `v1` or `v2`; absent in older records, and if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multi_agent_version: Option<String>,
    /// The model provider; absent in older records.
    pub model_provider: Option<String>,
    /// The base instructions of every request; absent in older records.
    pub base_instructions: Option<BaseInstructions>,
    /// The tools that the client runs, without those in an unknown form.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "known_tools"
    )]
    pub dynamic_tools: Option<Vec<DynamicToolSpec>>,
    /// The permitted use for memories; absent if unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mode: Option<String>,
    /// The repository that it was started in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitInfo>,
}

/// The history mode of threads whose items have no ids and times of their own.
pub const LEGACY_HISTORY: &str = "legacy";

/// The word for a history whose lines have numbers and whose items have lines of their own.
pub const PAGINATED_HISTORY: &str = "paginated";

impl SessionMeta {
    /// Whether its client chose that items have no ids and times of their own.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        self.history_mode.as_deref() == Some(LEGACY_HISTORY)
    }

    /// The thread at whose requests the provider's cache begins.
    #[must_use]
    pub fn cache_root(&self) -> &ThreadId {
        self.cache_root.as_ref().unwrap_or(&self.id)
    }

    /// The thread that this one is a side thread of.
    #[must_use]
    pub fn attached_to(&self) -> Option<&ThreadId> {
        self.forked_from_id
            .as_ref()
            .filter(|_| self.attached_thread)
    }
}

/// The base instructions of every request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseInstructions {
    /// The text.
    pub text: String,
}

fn known_tools<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<DynamicToolSpec>>, D::Error> {
    let tools = Option::<Vec<Value>>::deserialize(deserializer)?;
    let known = |tool| serde_json::from_value(tool).ok();
    Ok(tools.map(|tools| tools.into_iter().filter_map(known).collect()))
}
