//! Events about a turn as a whole: its start and end, failures, tokens, compaction, rollback, undo.

use codex_app_server_protocol_macros::sparse;
use serde::{Deserialize, Serialize};

use crate::error_info::CodexErrorInfo;
use crate::review::ReviewOutput;
use crate::settings::ModeKind;
use crate::tokens::{RateLimitSnapshot, TokenUsageInfo};

/// A turn started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnStartedEvent {
    /// The turn.
    #[serde(default)]
    pub turn_id: String,
    /// The turn whose work it is part of; absent if it is a work of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_turn_id: Option<String>,
    /// When, in Unix seconds; older records do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// How many tokens the model can take in, as far as it is used; null if not known.
    pub model_context_window: Option<i64>,
    /// How model and person work together in this turn.
    #[serde(default)]
    pub collaboration_mode_kind: ModeKind,
}

/// A turn ended without being aborted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnCompleteEvent {
    /// The turn.
    #[serde(default)]
    pub turn_id: String,
    /// The last thing that the model said in it.
    pub last_agent_message: Option<String>,
    /// Why it failed, where that is no event of its own: newer programs say it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<ErrorEvent>>,
    /// The id of the last response, by which the conversation can be continued from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// When, in Unix seconds; older records do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<i64>,
    /// How long it took; older records do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
}

/// A turn was aborted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnAbortedEvent {
    /// The turn; older records do not tell.
    #[serde(default)]
    pub turn_id: Option<String>,
    /// Why.
    pub reason: TurnAbortReason,
    /// When, in Unix seconds; older records do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<i64>,
    /// How long it took; older records do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
}

/// Why a turn was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnAbortReason {
    /// The user stopped it, or the session ended.
    Interrupted,
    /// Another turn took its place.
    Replaced,
    /// The review that it was part of ended.
    ReviewEnded,
}

/// Something failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorEvent {
    /// What, for people.
    pub message: String,
    /// What, for clients.
    #[serde(default)]
    pub codex_error_info: Option<CodexErrorInfo>,
}

/// Something that people should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarningEvent {
    /// What.
    pub message: String,
}

/// A request to the model failed and is about to be repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamErrorEvent {
    /// Which try comes next, for people.
    pub message: String,
    /// What failed, for clients.
    #[serde(default)]
    pub codex_error_info: Option<CodexErrorInfo>,
    /// What failed, for people.
    #[serde(default)]
    pub additional_details: Option<String>,
}

/// The server used another model than the one asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRerouteEvent {
    /// The model that was asked for.
    pub from_model: String,
    /// The model that was used.
    pub to_model: String,
    /// Why.
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

/// Tokens were used, or limits have changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenCountEvent {
    /// What the thread has used; null before the first response.
    pub info: Option<TokenUsageInfo>,
    /// Where the account stands with its limits.
    pub rate_limits: Option<RateLimitSnapshot>,
}

/// Turns were taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRolledBackEvent {
    /// How many.
    pub num_turns: u32,
}

/// An undo started.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoStartedEvent {
    /// What is being done, for people.
    pub message: Option<String>,
}

/// An undo ended.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoCompletedEvent {
    /// Whether the files are back as they were.
    pub success: bool,
    /// What was done, or why not, for people.
    pub message: Option<String>,
}

/// What files were before a turn changed them is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointCreatedEvent {
    /// The turn.
    pub turn_id: String,
    /// The name of what is kept.
    pub checkpoint_id: String,
}

/// What the patches of a turn have changed so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnDiffEvent {
    /// The changes as one diff.
    pub unified_diff: String,
}

/// A review ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExitedReviewModeEvent {
    /// What the reviewer found; null if the review did not get that far.
    pub review_output: Option<ReviewOutput>,
}
