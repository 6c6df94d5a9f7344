//! Stored data: message history, memories, snapshots for undo.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[history]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HistoryFile {
    /// Whether messages are stored.
    pub persistence: HistoryPersistence,
    /// Maximum size of the file.
    pub max_bytes: Option<u64>,
}

/// Whether messages of the user are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HistoryPersistence {
    /// All messages.
    #[default]
    SaveAll,
    /// No messages.
    None,
}

/// `[memories]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MemoriesFile {
    /// Whether threads that used MCP servers or web searches make no notes. Default: false.
    pub no_memories_if_mcp_or_web_search: Option<bool>,
    /// Whether threads make notes. Default: true.
    pub generate_memories: Option<bool>,
    /// Whether threads read notes. Default: true.
    pub use_memories: Option<bool>,
    /// How many notes are summed up at once, from 1 to 4096. Default: 256.
    pub max_raw_memories_for_consolidation: Option<i64>,
    /// After how many days without use notes are left out, up to 365. Default: 30.
    pub max_unused_days: Option<i64>,
    /// How old threads may be to make notes, in days, up to 90. Default: 30.
    pub max_rollout_age_days: Option<i64>,
    /// How many threads make notes after a start, from 1 to 128. Default: 16.
    pub max_rollouts_per_startup: Option<i64>,
    /// How long a thread must have been idle, in hours, from 1 to 48. Default: 6.
    pub min_rollout_idle_hours: Option<i64>,
    /// No notes are made when less than this share of the account's limit is left. Default: 25.
    pub min_rate_limit_remaining_percent: Option<i64>,
    /// The model that makes notes. Default: a small one.
    pub extract_model: Option<String>,
    /// The model that sums notes up. Default: that of the thread.
    pub consolidation_model: Option<String>,
}

/// `[ghost_snapshot]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GhostSnapshotFile {
    /// Larger untracked files are left out; no limit if not positive.
    #[serde(alias = "ignore_untracked_files_over_bytes")]
    pub ignore_large_untracked_files: Option<i64>,
    /// Untracked folders with more files are left out; no limit if not positive.
    #[serde(alias = "large_untracked_dir_warning_threshold")]
    pub ignore_large_untracked_dirs: Option<i64>,
    /// Whether warnings about left-out files are suppressed.
    pub disable_warnings: Option<bool>,
}

/// `[checkpoints]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CheckpointsFile {
    /// Whether what files were before turns change them is kept.
    pub enabled: Option<bool>,
    /// Whether that is so for what commands change.
    pub commands: Option<bool>,
    /// The maximum size of a file that is kept.
    pub max_file_bytes: Option<u64>,
    /// The maximum size of all that is kept.
    pub max_total_bytes: Option<u64>,
    /// After how many days a thread is forgotten; never if 0.
    pub keep_days: Option<u64>,
}

/// `[traces]`. How long trace bundles are kept; without limits they are never deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TracesFile {
    /// Bundles that were last written more than this number of days ago are deleted.
    pub max_days: Option<u64>,
    /// The oldest bundles are deleted until the others together have at most this number of MiB.
    pub max_mib: Option<u64>,
}

/// `[rollout_trace]`. How much of a session is recorded. What does not fit is left out, and its place says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RolloutTraceFile {
    /// The maximum size of all payloads of a trace, compressed.
    pub max_bytes: Option<u64>,
    /// The maximum size of one payload.
    pub max_payload_bytes: Option<u64>,
}
