//! Events about patches.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::approval::FileChange;

/// A patch is being applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchApplyBeginEvent {
    /// The call.
    pub call_id: String,
    /// The turn.
    #[serde(default)]
    pub turn_id: String,
    /// Whether nobody was asked.
    pub auto_approved: bool,
    /// What it does, by the path of the file.
    pub changes: BTreeMap<String, FileChange>,
}

/// How a patch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchApplyStatus {
    /// It was applied.
    Completed,
    /// It could not be applied.
    Failed,
    /// It was not applied, because it was not approved.
    Declined,
}

/// A patch was applied, or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchApplyEndEvent {
    /// The call.
    pub call_id: String,
    /// The turn.
    #[serde(default)]
    pub turn_id: String,
    /// What was done, in words.
    pub stdout: String,
    /// What went wrong, in words.
    pub stderr: String,
    /// Whether it was applied.
    pub success: bool,
    /// What it does, by the path of the file.
    #[serde(default)]
    pub changes: BTreeMap<String, FileChange>,
    /// How it ended.
    pub status: PatchApplyStatus,
}
