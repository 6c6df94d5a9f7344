//! Events about MCP servers and calls of their tools.

use std::collections::BTreeMap;
use std::time::Duration;

use codex_app_server_protocol_macros::{Tagged, sparse};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mcp::{Resource, ResourceTemplate, Tool};

/// How far an MCP server has come with starting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpStartupUpdateEvent {
    /// The server.
    pub server: String,
    /// How far it has come.
    pub status: McpStartupStatus,
}

/// How far an MCP server has come with starting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum McpStartupStatus {
    /// It is starting.
    Starting,
    /// It can be used.
    Ready,
    /// It did not start.
    Failed {
        /// Why.
        error: String,
    },
    /// Nobody waits for it any more.
    Cancelled,
}

/// Every MCP server has started, or failed to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpStartupCompleteEvent {
    /// The servers that can be used.
    pub ready: Vec<String>,
    /// The servers that did not start.
    pub failed: Vec<McpStartupFailure>,
    /// The servers that were not waited for.
    pub cancelled: Vec<String>,
}

/// An MCP server that did not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpStartupFailure {
    /// The server.
    pub server: String,
    /// Why.
    pub error: String,
}

/// A call of an MCP tool, as the server gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpInvocation {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    #[serde(default)]
    pub arguments: Option<Value>,
}

/// A call of an MCP tool started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpToolCallBeginEvent {
    /// The call.
    pub call_id: String,
    /// What is called.
    pub invocation: McpInvocation,
}

/// A call of an MCP tool ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpToolCallEndEvent {
    /// The call.
    pub call_id: String,
    /// What was called.
    pub invocation: McpInvocation,
    /// How long it took.
    pub duration: Duration,
    /// What the server answered, or why it did not.
    pub result: Result<CallToolResult, String>,
}

impl McpToolCallEndEvent {
    /// Whether the server answered, and not with an error.
    pub fn is_success(&self) -> bool {
        self.result
            .as_ref()
            .is_ok_and(|result| result.is_error != Some(true))
    }
}

/// What an MCP server answered to a call, as the MCP specification spells it.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// The answer in parts.
    pub content: Vec<Value>,
    /// The answer as data.
    pub structured_content: Option<Value>,
    /// Whether the answer tells of a failure.
    pub is_error: Option<bool>,
    /// What the server adds for clients that know it.
    #[serde(rename = "_meta")]
    pub meta: Option<Value>,
}

/// What the MCP servers offer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct McpListToolsResponseEvent {
    /// Tools, by the name under which the model calls them.
    pub tools: BTreeMap<String, Tool>,
    /// Resources, by server.
    pub resources: BTreeMap<String, Vec<Resource>>,
    /// Families of resources, by server.
    pub resource_templates: BTreeMap<String, Vec<ResourceTemplate>>,
    /// Whether there is a login, by server.
    pub auth_statuses: BTreeMap<String, McpAuthStatus>,
}

/// Whether there is a login for an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpAuthStatus {
    /// It has no way of logging in.
    Unsupported,
    /// There is none.
    NotLoggedIn,
    /// A token from the configuration.
    BearerToken,
    /// An OAuth login.
    #[serde(rename = "o_auth", alias = "oauth")]
    OAuth,
}
