//! The handshake that opens a connection: who the client is, what it can handle, and what it talks
//! to.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{AbsolutePathBuf, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Params of `initialize`, the first request of a connection, accepted once.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// Who the client is.
    pub client_info: ClientInfo,
    /// What the client opts into for this connection; absent opts into nothing.
    pub capabilities: Option<InitializeCapabilities>,
}

/// Who a client is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Machine-readable name, valid as an HTTP header value; it goes to the model provider.
    pub name: String,
    /// Name to show to people; null without one.
    pub title: Option<String>,
    /// Version of the client, in its own scheme.
    pub version: String,
}

/// What a client opts into, for one connection.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct InitializeCapabilities {
    /// Whether the client answers `attestation/generate`; never sent here.
    #[serde(default)]
    #[since("0.140")]
    pub request_attestation: bool,
    /// Whether forms of the provider's own kind can be shown; never sent here.
    #[serde(default)]
    #[since("0.169")]
    pub mcp_server_openai_form_elicitation: bool,
    /// Whether some commands need a person's approval, whatever the policy says; accepted.
    #[serde(default)]
    #[since("0.169")]
    pub required_human_approval: bool,
    /// Whether logins to a gateway are started by the client alone; accepted.
    #[serde(default)]
    #[since("0.169")]
    pub explicit_gateway_oauth: bool,
    /// Further capabilities, by name; accepted.
    #[since("0.169")]
    pub extensions: Option<BTreeMap<String, Value>>,
    /// Release that the client is written for, such as `0.171`. Without it, the release is recognised from what the client sends.
    #[since("own")]
    pub client_release: Option<String>,
    /// Whether experimental methods and fields are accepted; false by default.
    #[serde(default)]
    pub experimental_api: bool,
    /// Notifications not to send, by exact method name; unknown names are ignored.
    pub opt_out_notification_methods: Option<Vec<String>>,
}

/// Reply to `initialize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResponse {
    /// How the server presents itself, and this client, to the services it calls.
    pub user_agent: String,
    /// Absolute path of the directory that holds configuration, credentials and threads.
    pub codex_home: AbsolutePathBuf,
    /// Family of the server's operating system, such as `unix` or `windows`.
    pub platform_family: String,
    /// Operating system of the server, such as `linux`, `macos` or `windows`.
    pub platform_os: String,
}
