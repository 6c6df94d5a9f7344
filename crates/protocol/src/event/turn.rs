//! Events about a turn as a whole: its start and end, failures, tokens, compaction, rollback, undo.

use codex_app_server_protocol_macros::sparse;
use serde::{Deserialize, Serialize};

use crate::error_info::CodexErrorInfo;
use crate::review::ReviewOutput;
use crate::settings::ModeKind;
use crate::tokens::{RateLimitSnapshot, TokenUsageInfo};
use crate::usage_limits::{ExceededLimit, TurnUsage};

/// A turn started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnStartedEvent {
    #[serde(default)]
    pub turn_id: String,
    /// The first turn of the same work; absent if this turn is the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_turn_id: Option<String>,
    /// The time in Unix seconds; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// The usable context window of the model in tokens; null if unknown.
    pub model_context_window: Option<i64>,
    /// The collaboration mode of the turn.
    #[serde(default)]
    pub collaboration_mode_kind: ModeKind,
}

/// A turn ended without being aborted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnCompleteEvent {
    #[serde(default)]
    pub turn_id: String,
    /// The last message of the model.
    pub last_agent_message: Option<String>,
    /// The error of a failed turn. Some engines write it here instead of in an error event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<ErrorEvent>>,
    /// The id of the last response, from which the conversation can be continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The time in Unix seconds; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<i64>,
    /// The duration; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// What it used; absent in records of other releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<TurnUsage>>,
}

/// A response of the model and its calls ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseCompletedEvent {
    #[serde(default)]
    pub turn_id: String,
    /// The id of the response, from which the conversation can be continued.
    pub response_id: String,
}

/// A turn was aborted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnAbortedEvent {
    /// The turn; absent in older records.
    #[serde(default)]
    pub turn_id: Option<String>,
    pub reason: TurnAbortReason,
    /// The time in Unix seconds; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<i64>,
    /// The duration; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// What it used; absent in records of other releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<TurnUsage>>,
}

/// Why a turn was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnAbortReason {
    /// The user stopped it, or the session ended.
    Interrupted,
    /// Another turn replaced it.
    Replaced,
    /// The review that contained it ended.
    ReviewEnded,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorEvent {
    /// The message for the user.
    pub message: String,
    /// The kind of the error, for clients.
    #[serde(default)]
    pub codex_error_info: Option<CodexErrorInfo>,
    /// The limit that ended the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exceeded_limit: Option<ExceededLimit>,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarningEvent {
    pub message: String,
}

/// A request to the model failed and is about to be repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamErrorEvent {
    /// The number of the next attempt, as a text for the user.
    pub message: String,
    /// The kind of the error, for clients.
    #[serde(default)]
    pub codex_error_info: Option<CodexErrorInfo>,
    /// The error message for the user.
    #[serde(default)]
    pub additional_details: Option<String>,
}

/// The server used a model other than the requested one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRerouteEvent {
    /// The requested model.
    pub from_model: String,
    /// The used model.
    pub to_model: String,
    pub reason: ModelRerouteReason,
}

/// Why the server used another model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelRerouteReason {
    /// The conversation looked like an attack on computer systems.
    HighRiskCyberActivity,
}

/// The token usage or the rate limits changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenCountEvent {
    /// The token usage of the thread; null before the first response.
    pub info: Option<TokenUsageInfo>,
    /// The rate limits of the account.
    pub rate_limits: Option<RateLimitSnapshot>,
}

/// Turns were removed from the end of the thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRolledBackEvent {
    /// The number of turns.
    pub num_turns: u32,
    /// The first of them. Absent if they were only counted, as other programs do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_turn_id: Option<String>,
}

/// An undo started.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoStartedEvent {
    /// A progress message for the user.
    pub message: Option<String>,
}

/// An undo ended.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoCompletedEvent {
    /// Whether the files were restored.
    pub success: bool,
    /// The result for the user.
    pub message: Option<String>,
}

/// A checkpoint of the files that a turn changes was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointCreatedEvent {
    pub turn_id: String,
    /// The id of the checkpoint.
    pub checkpoint_id: String,
}

/// A call waits for the answer of a person. Only the file of a thread has this: a call that was asked about and not
/// answered has not begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionAskedEvent {
    pub turn_id: String,
    /// The call that waits.
    pub call_id: String,
}

/// A call has its answer, and may begin. Only the file of a thread has this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionAnsweredEvent {
    pub turn_id: String,
    /// The call that waited.
    pub call_id: String,
}

/// The changes of all patches of a turn so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnDiffEvent {
    /// The changes as one unified diff. Paths are relative to the repository, or absolute without one.
    pub unified_diff: String,
    /// Without a repository: the same diff with paths relative to the working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_diff: Option<String>,
}

/// A review ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExitedReviewModeEvent {
    /// The findings of the review; null if it ended early.
    pub review_output: Option<ReviewOutput>,
}
