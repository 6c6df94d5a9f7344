//! MCP servers as a client sees them: their state at start-up, what they offer, and OAuth logins
//! to them. Their definitions are part of the configuration; questions they ask are in
//! `elicitation`.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{Resource, ResourceTemplate, Tool, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Begins an OAuth login to a configured MCP server that is reached over HTTP.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
#[unread("0.169", "clientRegistration")]
pub struct McpServerOauthLoginParams {
    /// Name of the MCP server in the configuration.
    pub name: String,
    /// Scopes to ask for; null takes the configured ones, else those the MCP server announces.
    pub scopes: Option<Vec<String>>,
    /// Seconds to wait for the browser, at least 1; null means 300.
    pub timeout_secs: Option<i64>,
    /// Loaded thread whose folder decides on the configuration; null means the server's own.
    #[since("0.169")]
    pub thread_id: Option<String>,
    /// Machine that the MCP server belongs to; absent or null for one that belongs to none.
    #[since("0.171")]
    pub environment_id: Option<String>,
}

/// Asks what all known MCP servers offer, over connections made for this call.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ListMcpServerStatusParams {
    /// Value of `nextCursor` from the page before; null starts at the first MCP server.
    pub cursor: Option<String>,
    /// Most MCP servers in the page; null means all, 0 counts as 1.
    pub limit: Option<u32>,
    /// How much to ask each MCP server; null means everything.
    #[since("0.140")]
    pub detail: Option<McpServerStatusDetail>,
    /// Loaded thread whose folder decides on the configuration; null means the server's own.
    #[since("0.140")]
    pub thread_id: Option<String>,
    /// The only MCP server to tell of; null means all.
    #[since("0.169")]
    pub server_name: Option<String>,
    /// Machine whose MCP servers alone are meant; null means all.
    #[since("0.171")]
    pub environment_id: Option<String>,
}

/// How much an MCP server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub enum McpServerStatusDetail {
    /// Everything that it offers.
    Full,
    /// Its tools, and how requests are authorised.
    ToolsAndAuthOnly,
}

/// The login waits for the user; `mcpServer/oauthLogin/completed` tells how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct McpServerOauthLoginResponse {
    /// Id of the login, which its end carries too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub login_id: Option<String>,
    /// Address the client has to open in a browser; the server opens none.
    pub authorization_url: String,
}

/// Loaded threads will connect anew, each when its next turn starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpServerRefreshResponse {}

/// How requests to an MCP server are authorised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpAuthStatus {
    /// Not at all: it is a local program, or offers no OAuth.
    Unsupported,
    /// It offers OAuth, and no tokens are stored.
    NotLoggedIn,
    /// By a configured token or `Authorization` header.
    BearerToken,
    /// By stored tokens of an OAuth login.
    OAuth,
}

/// What one MCP server offers; nothing, if it is turned off or does not start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct McpServerStatus {
    /// Name in the configuration.
    pub name: String,
    /// Machine that it belongs to; null for none.
    #[serde(default)]
    #[since("0.171")]
    pub environment_id: Option<String>,
    /// Tools by the MCP server's own name for them.
    pub tools: BTreeMap<String, Tool>,
    /// All resources it lists.
    pub resources: Vec<Resource>,
    /// All patterns of resource addresses it lists.
    pub resource_templates: Vec<ResourceTemplate>,
    /// How requests to it are authorised.
    pub auth_status: McpAuthStatus,
    /// How the connection of the named thread is doing; absent without a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub runtime_status: Option<McpServerConnectionStatus>,
    /// Id of the plugin that it comes from; absent if it is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub plugin_id: Option<String>,
    /// Origin of a server that is reached over HTTP; absent for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub http_origin: Option<String>,
    /// What the server says about itself; absent if it does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub server_info: Option<McpServerInfo>,
    /// What the server can do, as it says; absent if it does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub server_capabilities: Option<Value>,
    /// What the server says beside the list of its tools; absent if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub tool_list_meta: Option<Value>,
    /// Why the server has no tools; absent if it runs or is switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub tools_error: Option<String>,
}

/// What an MCP server says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerInfo {
    /// Name for programs.
    #[serde(default)]
    pub name: String,
    /// Name for people; null if it has none.
    #[serde(default)]
    pub title: Option<String>,
    /// Version of the server.
    #[serde(default)]
    pub version: String,
    /// What the server is for; null if it does not say.
    #[serde(default)]
    pub description: Option<String>,
    /// Pictures of the server; null if it has none.
    #[serde(default)]
    pub icons: Option<Vec<Value>>,
    /// Page about the server; null if it has none.
    #[serde(default)]
    pub website_url: Option<String>,
}

/// How a thread's connection to an MCP server is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpServerConnectionStatus {
    /// The thread has not begun to connect.
    NotStarted,
    /// The server is being started.
    Starting,
    /// Its tools can be used.
    Connected,
    /// It did not start, and nobody is logged in to it.
    AuthenticationRequired,
    /// It did not start.
    Failed,
    /// Its start was given up.
    Cancelled,
    /// The configuration switches it off.
    Disabled,
}

/// One page of MCP servers, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListMcpServerStatusResponse {
    /// The MCP servers of this page.
    pub data: Vec<McpServerStatus>,
    /// Where the next page begins; null at the end.
    pub next_cursor: Option<String>,
}

/// An OAuth login ended, well or not; sent to every connection.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct McpServerOauthLoginCompletedNotification {
    /// Id of the login.
    #[since("0.169")]
    pub login_id: Option<String>,
    /// Name of the MCP server in the configuration.
    pub name: String,
    /// Whether tokens are stored; threads use them after `config/mcpServer/reload`.
    pub success: bool,
    /// Why it failed; absent on success.
    pub error: Option<String>,
    /// Thread that the login was begun for; absent if for none.
    #[since("0.169")]
    pub thread_id: Option<String>,
}

/// Where the start of an MCP server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpServerStartupState {
    /// Work has begun; one of the others follows.
    Starting,
    /// Its tools are known and can be called.
    Ready,
    /// It gave up; calls of its tools are not offered.
    Failed,
    /// The user interrupted the start.
    Cancelled,
}

/// The start of an MCP server went on in one of the loaded threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct McpServerStatusUpdatedNotification {
    /// Name of the MCP server in the configuration.
    pub name: String,
    /// The state it has reached.
    pub status: McpServerStartupState,
    /// Why it failed, as text for the user; null in all other states.
    pub error: Option<String>,
    /// The thread.
    #[serde(default)]
    #[since("0.140")]
    pub thread_id: Option<String>,
    /// Machine that it belongs to; null for none.
    #[serde(default)]
    #[since("0.171")]
    pub environment_id: Option<String>,
}
