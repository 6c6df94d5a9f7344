//! Checkpoints: what files were before turns changed them, and going back to it.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::SortDirection;

/// How much of what a turn changed can be brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckpointCoverage {
    /// Everything in the folders that commands may write to.
    Complete,
    /// What patches changed; what commands changed is not known.
    Patches,
    /// Not everything: see `notKept`.
    Partial,
}

/// What made a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckpointKind {
    /// A turn that changed files.
    Turn,
    /// A restore; going back to it undoes the restore.
    Restore,
}

/// A file or folder that cannot be brought back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointNotKept {
    /// Absolute path.
    pub path: String,
    /// Why, as a word: `tooLarge`, `limit`, `storeFull`, `unreadable`, `special`, `hardLink`, `ignoredFolder`,
    /// `otherFileSystem`, `tooManyFiles`, `converted`, `repository` or `gone`.
    pub reason: String,
}

/// Files as they were before a turn or a restore changed them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCheckpoint {
    /// Names the checkpoint.
    pub id: String,
    /// What made it.
    pub kind: CheckpointKind,
    /// Turn that changed the files; null for a restore.
    pub turn_id: Option<String>,
    /// When it was made, in Unix seconds.
    pub created_at: i64,
    /// Beginning of what the user asked for.
    pub label: String,
    /// Number of files that were changed.
    pub files: u64,
    /// Lines that were added.
    pub insertions: u64,
    /// Lines that were removed.
    pub deletions: u64,
    /// How much can be brought back.
    pub coverage: CheckpointCoverage,
    /// What cannot be brought back.
    pub not_kept: Vec<CheckpointNotKept>,
    /// Folders in which the effects of commands were watched.
    pub roots: Vec<String>,
}

/// Params of `thread/checkpoint/list`.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCheckpointListParams {
    /// Thread whose checkpoints are listed; it need not be loaded.
    pub thread_id: String,
    /// `nextCursor` of another page; absent for the first page.
    pub cursor: Option<String>,
    /// Most checkpoints to return; all by default.
    pub limit: Option<u32>,
    /// Which way to go; from the newest back by default.
    pub sort_direction: Option<SortDirection>,
}

/// Reply to `thread/checkpoint/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCheckpointListResponse {
    /// The checkpoints of the page.
    pub data: Vec<ThreadCheckpoint>,
    /// Where the next page begins; null if this is the last one.
    pub next_cursor: Option<String>,
}

/// Params of `thread/checkpoint/diff`.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCheckpointDiffParams {
    /// Thread that the checkpoint is of.
    pub thread_id: String,
    /// Checkpoint that is compared.
    pub checkpoint_id: String,
    /// A later checkpoint to compare it with; absent for the files as they are now.
    pub to: Option<String>,
    /// Files and folders to compare, absolute; absent for all.
    pub paths: Option<Vec<String>>,
}

/// How a file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckpointChangeKind {
    /// It is there now.
    Added,
    /// It is there no more.
    Deleted,
    /// It is another one.
    Modified,
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointDiffFile {
    /// Absolute path.
    pub path: String,
    /// How it differs.
    pub kind: CheckpointChangeKind,
    /// Whether there are no lines to show: it is no text, too large, or not kept.
    pub binary: bool,
    /// Lines that were added.
    pub insertions: u64,
    /// Lines that were removed.
    pub deletions: u64,
}

/// Reply to `thread/checkpoint/diff`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCheckpointDiffResponse {
    /// All files that are text, as one unified diff.
    pub diff: String,
    /// All files.
    pub files: Vec<CheckpointDiffFile>,
}

/// What goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckpointRestoreScope {
    /// Files.
    #[default]
    Files,
    /// The history of the thread.
    Conversation,
    /// Files, then the history.
    Both,
}

/// What to do about files that somebody else has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckpointConflictChoice {
    /// Change nothing at all.
    #[default]
    Fail,
    /// Leave them and restore the others.
    Skip,
    /// Restore them, too.
    Overwrite,
}

/// Params of `thread/checkpoint/restore`. A running turn refuses it.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCheckpointRestoreParams {
    /// Thread that the checkpoint is of; it need not be loaded if only files go back.
    pub thread_id: String,
    /// Checkpoint before which everything is to be.
    pub checkpoint_id: String,
    /// What goes back; files by default.
    pub restore: Option<CheckpointRestoreScope>,
    /// Files and folders to restore, absolute; absent for all.
    pub paths: Option<Vec<String>>,
    /// What to do about conflicts; fail by default.
    pub on_conflict: Option<CheckpointConflictChoice>,
    /// Whether to change nothing and only answer what would be.
    pub dry_run: Option<bool>,
}

/// A file that was, or would be, restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointRestoredFile {
    /// Absolute path.
    pub path: String,
    /// What the restore does to it.
    pub kind: CheckpointChangeKind,
}

/// Why a file cannot go back without loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckpointConflictReason {
    /// Somebody changed it after the last recorded change.
    ChangedSince,
    /// Somebody changed it between two recorded changes.
    ChangedBetween,
    /// A command of another thread ran at the same time, and may have changed it.
    OtherThread,
    /// It cannot be reached: a link or a file is in the way, or it may not be read.
    Unreachable,
}

/// A file that cannot go back without loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointConflict {
    /// Absolute path.
    pub path: String,
    /// Why.
    pub reason: CheckpointConflictReason,
}

/// Reply to `thread/checkpoint/restore`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCheckpointRestoreResponse {
    /// Files that were restored, or would be.
    pub changed: Vec<CheckpointRestoredFile>,
    /// Files that somebody else has changed. If there are any and `onConflict` is `fail`, nothing was changed.
    pub conflicts: Vec<CheckpointConflict>,
    /// What was not restored because it was not kept.
    pub not_kept: Vec<CheckpointNotKept>,
    /// Checkpoint by which the restore of the files is undone; null if no file was changed.
    pub undo_checkpoint_id: Option<String>,
}

/// Payload of `thread/checkpoint/created`: a turn has changed files, and what they were before is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCheckpointCreatedNotification {
    /// Thread that the turn belongs to.
    pub thread_id: String,
    /// Turn that changed the files.
    pub turn_id: String,
    /// The checkpoint.
    pub checkpoint_id: String,
}

/// Payload of `thread/checkpoint/restored`: files became what they were before a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCheckpointRestoredNotification {
    /// Thread that the checkpoint is of.
    pub thread_id: String,
    /// Checkpoint that was gone back to.
    pub checkpoint_id: String,
    /// Checkpoint by which that is undone.
    pub undo_checkpoint_id: String,
}
