//! Machines to work on.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `environment/add`: registers a remote machine to work on.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct EnvironmentAddParams {
    /// Token for the connection; absent or null without one.
    #[since("0.169")]
    pub auth_bearer_token: Option<String>,
    /// How long connecting may take, in milliseconds.
    #[since("0.169")]
    pub connect_timeout_ms: Option<i64>,
    /// Machine: `local` is the one that the server runs on.
    pub environment_id: String,
    /// Address of the executor.
    pub exec_server_url: String,
    /// Skills of the machine.
    #[since("0.169")]
    pub skills: Option<EnvironmentSkillsParams>,
    /// Id to send when connecting.
    #[since("0.169")]
    pub websocket_request_id: Option<String>,
}

/// Reply to `environment/add`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentAddResponse {}

/// Params of `environment/info`: describes a machine to work on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentInfoParams {
    /// Machine: `local` is the one that the server runs on.
    pub environment_id: String,
}

/// Reply to `environment/info`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentInfoResponse {
    /// Working directory.
    pub cwd: Option<String>,
    /// Shell that runs commands there.
    pub shell: EnvironmentShellInfo,
}

/// Params of `environment/status`: reads whether a machine can be used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentStatusParams {
    /// Machine: `local` is the one that the server runs on.
    pub environment_id: String,
}

/// Reply to `environment/status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentStatusResponse {
    /// Why it failed; null if it did not.
    pub error: Option<String>,
    /// State that it is in.
    pub status: EnvironmentStatusKind,
}

/// Payload of `thread/environment/connected`: a remote machine of a thread can be used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentConnectionNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Machine: `local` is the one that the server runs on.
    pub environment_id: String,
}

/// Skills that a machine must have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentSkillsParams {
    /// Whether it is needed.
    pub required: Option<Vec<String>>,
}

/// A shell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentShellInfo {
    /// Name for people.
    pub name: String,
    /// Path on disk.
    pub path: String,
}

/// Whether a machine can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EnvironmentStatusKind {
    /// Disconnected.
    Disconnected,
    /// Pending.
    Pending,
    /// Ready.
    Ready,
    /// Unknown.
    Unknown,
}
