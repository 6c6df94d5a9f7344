//! Goals: what a thread works towards by itself.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{Update, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `thread/goal/clear`: removes the goal of a thread.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ThreadGoalClearParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Who asked for it.
    #[since("0.169")]
    pub origin: Option<ThreadGoalMutationOrigin>,
}

/// Reply to `thread/goal/clear`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoalClearResponse {
    /// Whether there was a goal.
    pub cleared: bool,
}

/// Payload of `thread/goal/cleared`: a thread has no goal any more, or has none when it is resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoalClearedNotification {
    /// Thread that it concerns.
    pub thread_id: String,
}

/// Params of `thread/goal/set`: sets or changes what a thread works towards.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ThreadGoalSetParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// What the thread works towards, at most 4,000 characters.
    pub objective: Option<String>,
    /// Who asked for it.
    #[since("0.169")]
    pub origin: Option<ThreadGoalMutationOrigin>,
    /// State that it is in.
    pub status: Option<ThreadGoalStatus>,
    /// Most tokens that it may use; null without a limit.
    #[serde(default)]
    pub token_budget: Update<i64>,
}

/// Reply to `thread/goal/set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoalSetResponse {
    /// The goal; null if the thread has none.
    pub goal: ThreadGoal,
}

/// Payload of `thread/goal/updated`: the goal of a thread changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoalUpdatedNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// The goal; null if the thread has none.
    pub goal: ThreadGoal,
    /// Turn that it concerns.
    pub turn_id: Option<String>,
}

/// Who changes a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadGoalMutationOrigin {
    /// Automatic.
    Automatic,
    /// User.
    User,
}

/// What a thread works towards by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoal {
    /// Thread that it concerns.
    pub thread_id: String,
    /// When it was created, in Unix seconds.
    pub created_at: i64,
    /// What the thread works towards, at most 4,000 characters.
    pub objective: String,
    /// State that it is in.
    pub status: ThreadGoalStatus,
    /// Seconds that its turns took.
    pub time_used_seconds: i64,
    /// Most tokens that it may use; null without a limit.
    pub token_budget: Option<i64>,
    /// Tokens that its turns used, without cached input.
    pub tokens_used: i64,
    /// When it last changed, in Unix seconds.
    pub updated_at: i64,
}

/// How a goal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadGoalStatus {
    /// Active.
    Active,
    /// Blocked.
    Blocked,
    /// Budget limited.
    BudgetLimited,
    /// Complete.
    Complete,
    /// Paused.
    Paused,
    /// Usage limited.
    UsageLimited,
}
