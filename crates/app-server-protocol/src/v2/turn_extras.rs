//! Settings of a running turn, and further notifications about turns.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{ReasoningEffort, ReasoningSummary, ServiceTier, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::v2::{ApprovalsReviewer, FileUpdateChange};

/// Payload of `item/fileChange/patchUpdated`: a patch that the model is writing went on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChangePatchUpdatedNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Changed files, sorted by path.
    pub changes: Vec<FileUpdateChange>,
    /// Item that it concerns.
    pub item_id: String,
    /// Turn that it concerns.
    pub turn_id: String,
}

/// Payload of `turn/moderationMetadata`: what the provider's moderation says about a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnModerationMetadataNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Values for programs, by name.
    pub metadata: Value,
    /// Turn that it concerns.
    pub turn_id: String,
}

/// Params of `turn/settings/update`: changes the settings of the running turn alone.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnSettingsUpdateParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Turn that it concerns.
    pub turn_id: String,
    /// Who answers approval requests; absent or null keeps the reviewer.
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// Machines to work on; absent or null keeps them, and an empty list takes the tools for commands and files away.
    pub environments: Option<Vec<TurnEnvironmentParams>>,
    /// Slug of the model.
    pub model: Option<String>,
    /// Effort that the model should spend; absent or null keeps the current one.
    pub effort: Option<ReasoningEffort>,
    /// How the model summarises its reasoning; absent or null keeps that.
    pub summary: Option<ReasoningSummary>,
    /// Processing tier; absent or null keeps it.
    pub service_tier: Option<ServiceTier>,
}

/// Reply to `turn/settings/update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnSettingsUpdateResponse {
    /// Whether the turn takes the settings from its next request to the model on.
    pub status: TurnSettingsUpdateStatus,
}

/// Whether the settings of the turn changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TurnSettingsUpdateStatus {
    /// It takes them.
    Applied,
    /// It does not run.
    TargetUnavailable,
}

/// None
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct TurnEnvironmentParams {
    /// Working directory.
    pub cwd: String,
    /// Machine: `local` is the one that the server runs on.
    pub environment_id: String,
    /// Folders that the thread is about.
    #[since("0.169")]
    pub runtime_workspace_roots: Option<Vec<String>>,
}
