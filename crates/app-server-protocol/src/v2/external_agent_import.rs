//! Progress and history of imports of another assistant's settings.

use codex_app_server_protocol_macros::Experimental;
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::v2::ExternalAgentConfigMigrationItemType;

/// Payload of `externalAgentConfig/import/completed`: an import of another assistant's settings ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ExternalAgentConfigImportCompletedNotification {
    /// Id of the import.
    #[since("0.169")]
    pub import_id: String,
    /// Results by kind of setting.
    #[since("0.169")]
    pub item_type_results: Vec<ExternalAgentConfigImportTypeResult>,
}

/// Payload of `externalAgentConfig/import/progress`: an import of another assistant's settings went on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAgentConfigImportProgressNotification {
    /// Id of the import.
    pub import_id: String,
    /// Results by kind of setting.
    pub item_type_results: Vec<ExternalAgentConfigImportTypeResult>,
}

/// Params of `externalAgentConfig/import/recordHistory`: records an import that a client made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAgentConfigImportHistoryRecordParams {
    /// Results by kind of setting.
    pub item_type_results: Vec<ExternalAgentConfigImportHistoryRecordTypeResultParams>,
    /// Configuration key of the model provider.
    pub provider_id: String,
}

/// Reply to `externalAgentConfig/import/recordHistory`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAgentConfigImportHistoryRecordResponse {
    /// Id of the import.
    pub import_id: String,
}

/// What was imported of one kind of setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAgentConfigImportTypeResult {
    /// What could not be imported.
    pub failures: Vec<ExternalAgentConfigImportItemTypeFailure>,
    /// Kind of setting that was imported.
    pub item_type: ExternalAgentConfigMigrationItemType,
    /// What was imported.
    pub successes: Vec<ExternalAgentConfigImportItemTypeSuccess>,
}

/// A setting that was imported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAgentConfigImportItemTypeSuccess {
    /// Working directory.
    pub cwd: Option<String>,
    /// Kind of setting that was imported.
    pub item_type: ExternalAgentConfigMigrationItemType,
    /// Where it comes from.
    pub source: Option<String>,
    /// What it is applied to.
    pub target: Option<String>,
    /// Title for people.
    pub title: Option<String>,
}

/// A setting that could not be imported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAgentConfigImportItemTypeFailure {
    /// Working directory.
    pub cwd: Option<String>,
    /// Kind of failure; null if unknown.
    pub error_type: Option<String>,
    /// Step that failed.
    pub failure_stage: String,
    /// Kind of setting that was imported.
    pub item_type: ExternalAgentConfigMigrationItemType,
    /// Text for people.
    pub message: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// Kind of failure in detail; null if unknown.
    pub sub_error_type: Option<String>,
}

/// What a client imported of one kind of setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAgentConfigImportHistoryRecordTypeResultParams {
    /// What could not be imported.
    pub failures: Vec<ExternalAgentConfigImportItemTypeFailure>,
    /// Kind of setting that was imported.
    pub item_type: ExternalAgentConfigMigrationItemType,
    /// What was imported.
    pub successes: Vec<ExternalAgentConfigImportHistoryRecordSuccessParams>,
}

/// A setting that a client imported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAgentConfigImportHistoryRecordSuccessParams {
    /// Working directory.
    pub cwd: Option<String>,
    /// Kind of setting that was imported.
    pub item_type: ExternalAgentConfigMigrationItemType,
    /// Where it comes from.
    pub source: Option<String>,
    /// What it is applied to.
    pub target: Option<String>,
    /// Title for people.
    pub title: Option<String>,
}

/// Reply to `externalAgentConfig/import/readHistories`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAgentConfigImportHistoriesReadResponse {
    /// Imports, newest first.
    pub data: Vec<ExternalAgentConfigImportHistory>,
    /// Connectors that could take the place of imported ones.
    pub connectors: Vec<Value>,
}

/// An import that took place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAgentConfigImportHistory {
    /// Id of the import.
    pub import_id: String,
    /// Assistant that the settings came from; null if unknown.
    pub provider_id: Option<String>,
    /// When it ended, in Unix milliseconds.
    pub completed_at_ms: i64,
    /// What was imported.
    pub successes: Vec<ExternalAgentConfigImportItemTypeSuccess>,
    /// What could not be imported.
    pub failures: Vec<ExternalAgentConfigImportItemTypeFailure>,
}
