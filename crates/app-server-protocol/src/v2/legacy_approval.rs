//! The approval requests of the protocol before v2. Kept for the schema; the server never sends
//! them.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::Experimental;
use codex_protocol::{FileChange, ParsedCommand, ReviewDecision, ThreadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `execCommandApproval`: may this command run?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ExecCommandApprovalParams {
    /// Thread that asks.
    pub conversation_id: ThreadId,
    /// Id of the tool call that runs the command.
    pub call_id: String,
    /// Tells apart several questions of one call; null if there is just one.
    pub approval_id: Option<String>,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Directory that the command would run in.
    pub cwd: String,
    /// Why approval is needed; null without a reason.
    pub reason: Option<String>,
    /// What the command appears to do, for display.
    pub parsed_cmd: Vec<ParsedCommand>,
}

/// Reply to `execCommandApproval`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecCommandApprovalResponse {
    /// What the user decided.
    pub decision: ReviewDecision,
}

/// Params of `applyPatchApproval`: may this patch be applied?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ApplyPatchApprovalParams {
    /// Thread that asks.
    pub conversation_id: ThreadId,
    /// Id of the tool call that applies the patch.
    pub call_id: String,
    /// What happens to each file, by path.
    pub file_changes: BTreeMap<String, FileChange>,
    /// Why approval is needed; null without a reason.
    pub reason: Option<String>,
    /// Directory to open for writing until the session ends; null if only the patch is meant.
    pub grant_root: Option<String>,
}

/// Reply to `applyPatchApproval`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplyPatchApprovalResponse {
    /// What the user decided.
    pub decision: ReviewDecision,
}
