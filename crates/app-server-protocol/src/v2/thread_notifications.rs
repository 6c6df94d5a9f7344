//! Notifications about a thread as a whole: its life, its status, its name and its token usage.
//! Those about the thread's life go to every connection, token usage only to subscribers.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::{Thread, ThreadStatus};

/// Payload of `thread/started`: a thread was created by start, fork or a detached review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStartedNotification {
    /// The new thread, with turns only if it is a fork.
    pub thread: Thread,
}

/// Payload of `thread/status/changed`, sent ahead of the event that caused the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStatusChangedNotification {
    /// Thread whose status changed.
    pub thread_id: String,
    /// Status from now on.
    pub status: ThreadStatus,
}

/// Payload of `thread/archived`: a thread moved to the archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadArchivedNotification {
    /// Thread that was archived, and is no longer loaded.
    pub thread_id: String,
}

/// Payload of `thread/unarchived`: a thread came back from the archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnarchivedNotification {
    /// Thread that was restored; it is not loaded by that.
    pub thread_id: String,
}

/// Payload of `thread/deleted`: a thread was removed for good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadDeletedNotification {
    /// Thread that was removed, and is no longer loaded.
    pub thread_id: String,
}

/// Payload of `thread/closed`: a thread was unloaded after its last subscriber left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadClosedNotification {
    /// Thread that was unloaded; it can be resumed again.
    pub thread_id: String,
}

/// Payload of `thread/name/updated`: a thread's name was stored.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadNameUpdatedNotification {
    /// Thread that was named.
    pub thread_id: String,
    /// Name from now on; absent if there is none.
    pub thread_name: Option<String>,
}

/// Payload of `thread/tokenUsage/updated`, sent after model responses, compaction and rollback.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTokenUsageUpdatedNotification {
    /// Thread that the tokens were spent on.
    pub thread_id: String,
    /// Turn during which the figures changed.
    pub turn_id: String,
    /// Figures of the thread up to now.
    pub token_usage: ThreadTokenUsage,
}

/// Tokens that a thread has used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTokenUsage {
    /// Sum over all model responses of the thread.
    pub total: TokenUsageBreakdown,
    /// The latest response alone; after compaction or rollback, an estimate of the context size.
    pub last: TokenUsageBreakdown,
    /// Tokens the model can attend to, less a reserve; null if unknown.
    pub model_context_window: Option<i64>,
}

/// Token counts as reported by the model provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct TokenUsageBreakdown {
    /// All tokens of input and output.
    pub total_tokens: i64,
    /// Tokens sent to the model, cached ones included.
    pub input_tokens: i64,
    /// Part of the input that the provider had in its cache.
    pub cached_input_tokens: i64,
    /// Part of the input that the provider put into its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub cache_write_input_tokens: Option<i64>,
    /// Tokens that the model produced, reasoning included.
    pub output_tokens: i64,
    /// Part of the output that was reasoning.
    pub reasoning_output_tokens: i64,
}
