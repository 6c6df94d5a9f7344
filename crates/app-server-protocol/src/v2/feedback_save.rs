//! Saving a report on this machine.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `feedback/save`: saves a report about a thread on this machine.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackSaveParams {
    /// Thread that it concerns.
    pub thread_id: Option<String>,
    /// What the report is about.
    pub classification: String,
    /// Further files to add.
    pub extra_log_files: Option<Vec<String>>,
    /// Whether to add logs.
    #[serde(default)]
    pub include_logs: bool,
    /// Why.
    pub reason: Option<String>,
    /// Where to save it; absent or null takes the default.
    pub save_path: String,
    /// Values to add, by name.
    pub tags: Option<BTreeMap<String, String>>,
}

/// Reply to `feedback/save`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackSaveResponse {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Hash of the prompt; null if unknown.
    pub prompt_hash: Option<String>,
    /// Where it was saved.
    pub saved_path: String,
}
