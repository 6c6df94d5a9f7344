//! Preparing the Windows sandbox, and the warning about folders it cannot protect. On other
//! systems every preparation ends as failed.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::AbsolutePathBuf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of sandbox to prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WindowsSandboxSetupMode {
    /// Separate user accounts, made with the rights of an administrator.
    Elevated,
    /// A restricted token of the user's own account, without special rights.
    Unelevated,
}

/// Begins to prepare the sandbox; on success the mode is kept in the configuration.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct WindowsSandboxSetupStartParams {
    /// Kind of sandbox to prepare.
    pub mode: WindowsSandboxSetupMode,
    /// Working folder whose configuration and access rules count; null means the server's.
    pub cwd: Option<AbsolutePathBuf>,
}

/// Work goes on in the background; `windowsSandbox/setupCompleted` tells the outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowsSandboxSetupStartResponse {
    /// Always true; it says nothing of the outcome.
    pub started: bool,
}

/// Folders that everybody may write to, so that no sandbox protects them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowsWorldWritableWarningNotification {
    /// Some of the folders.
    pub sample_paths: Vec<String>,
    /// How many more there are besides the samples.
    pub extra_count: u64,
    /// Whether the search failed, so that the list tells nothing.
    pub failed_scan: bool,
}

/// Preparation ended; sent to the connection that began it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowsSandboxSetupCompletedNotification {
    /// Kind of sandbox that was to be prepared.
    pub mode: WindowsSandboxSetupMode,
    /// Whether commands can be run in it now.
    pub success: bool,
    /// Why it failed; null on success.
    pub error: Option<String>,
}
