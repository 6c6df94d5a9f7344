//! Reports that a user sends to the makers about a thread or about the program.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sends a report; refused when the configuration turns feedback off.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct FeedbackUploadParams {
    /// Kind of report: `bug`, `bad_result`, `good_result`, `safety_check`, or anything for other.
    pub classification: String,
    /// The user's own words; null when they gave none.
    pub reason: Option<String>,
    /// Thread the report is about; null for a report about no thread.
    pub thread_id: Option<String>,
    /// Attach log lines and, if the thread is loaded, its history; absent is no.
    #[serde(default)]
    #[schemars(extend("x-required-until" = "0.117"))]
    pub include_logs: bool,
    /// Paths of files to attach in any case; unreadable ones are skipped.
    pub extra_log_files: Option<Vec<String>>,
    /// What the client wants the report to be found by, from name to value.
    #[since("0.140")]
    pub tags: Option<BTreeMap<String, String>>,
}

/// The report was handed over; delivery is not certain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackUploadResponse {
    /// The given thread, or an id made up for the report by which it can be found.
    pub thread_id: String,
}
