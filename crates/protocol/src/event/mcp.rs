//! Events about MCP servers and calls of their tools.

use std::collections::BTreeMap;
use std::time::Duration;

use codex_app_server_protocol_macros::{Tagged, sparse};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mcp::{Resource, ResourceTemplate, Tool};

/// The startup status of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpStartupUpdateEvent {
    pub server: String,
    /// The status.
    pub status: McpStartupStatus,
}

/// The startup status of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum McpStartupStatus {
    Starting,
    /// The server is ready.
    Ready,
    /// The server did not start.
    Failed {
        error: String,
    },
    /// The startup was cancelled.
    Cancelled,
}

/// The startup of all MCP servers has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpStartupCompleteEvent {
    /// The servers that are ready.
    pub ready: Vec<String>,
    /// The servers that failed.
    pub failed: Vec<McpStartupFailure>,
    /// The servers whose startup was cancelled.
    pub cancelled: Vec<String>,
}

/// An MCP server that failed to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpStartupFailure {
    pub server: String,
    pub error: String,
}

/// A call of an MCP tool, as sent to the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpInvocation {
    pub server: String,
    pub tool: String,
    #[serde(default)]
    pub arguments: Option<Value>,
}

/// A call of an MCP tool started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpToolCallBeginEvent {
    pub call_id: String,
    /// The server, the tool and the arguments.
    pub invocation: McpInvocation,
    /// Whether the server says that the tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
}

/// A call of an MCP tool ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpToolCallEndEvent {
    pub call_id: String,
    /// The server, the tool and the arguments.
    pub invocation: McpInvocation,
    /// Whether the server says that the tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The duration.
    pub duration: Duration,
    /// The result of the server, or the error message.
    pub result: Result<CallToolResult, String>,
}

impl McpToolCallEndEvent {
    /// Whether the call succeeded.
    pub fn is_success(&self) -> bool {
        self.result
            .as_ref()
            .is_ok_and(|result| result.is_error != Some(true))
    }
}

/// The result of a call of an MCP tool, in the spelling of the MCP specification.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// The content blocks.
    pub content: Vec<Value>,
    /// The structured result.
    pub structured_content: Option<Value>,
    /// Whether the tool reports a failure.
    pub is_error: Option<bool>,
    /// The `_meta` object of the server.
    #[serde(rename = "_meta")]
    pub meta: Option<Value>,
}

/// The tools and resources of all MCP servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct McpListToolsResponseEvent {
    /// Tools by the name that the model uses.
    pub tools: BTreeMap<String, Tool>,
    /// Resources by server.
    pub resources: BTreeMap<String, Vec<Resource>>,
    /// Resource templates by server.
    pub resource_templates: BTreeMap<String, Vec<ResourceTemplate>>,
    /// The login status by server.
    pub auth_statuses: BTreeMap<String, McpAuthStatus>,
}

/// The login status of an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpAuthStatus {
    /// The server does not support logins.
    Unsupported,
    /// There is no login.
    NotLoggedIn,
    /// The configuration contains a token.
    BearerToken,
    /// There is an OAuth login.
    #[serde(rename = "o_auth", alias = "oauth")]
    OAuth,
}
