//! Events about patches.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::approval::FileChange;

/// The model has written more of a patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchApplyUpdatedEvent {
    pub call_id: String,
    #[serde(default)]
    pub turn_id: String,
    /// The changes so far, by file path. Diffs are what the patch says.
    pub changes: BTreeMap<String, FileChange>,
}

/// The application of a patch started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchApplyBeginEvent {
    pub call_id: String,
    #[serde(default)]
    pub turn_id: String,
    /// Whether no approval was needed.
    pub auto_approved: bool,
    /// The changes by file path.
    pub changes: BTreeMap<String, FileChange>,
}

/// The result of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchApplyStatus {
    /// The patch was applied.
    Completed,
    /// The patch could not be applied.
    Failed,
    /// The patch was not approved.
    Declined,
}

/// The application of a patch ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchApplyEndEvent {
    pub call_id: String,
    #[serde(default)]
    pub turn_id: String,
    /// A text about the changes.
    pub stdout: String,
    /// A text about the failure.
    pub stderr: String,
    /// Whether it was applied.
    pub success: bool,
    /// The changes by file path.
    #[serde(default)]
    pub changes: BTreeMap<String, FileChange>,
    pub status: PatchApplyStatus,
}
