//! Use, credits and notices of an account.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `account/rateLimitResetCredit/consume`: uses a credit that resets the account's limits.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ConsumeAccountRateLimitResetCreditParams {
    /// Credit to use; absent or null takes any.
    pub credit_id: Option<String>,
    /// Key of the request: repeated, the first result is returned.
    pub idempotency_key: String,
}

/// Reply to `account/rateLimitResetCredit/consume`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsumeAccountRateLimitResetCreditResponse {
    /// What came of it.
    pub outcome: ConsumeAccountRateLimitResetCreditOutcome,
}

/// Params of `account/sendAddCreditsNudgeEmail`: asks the owner of the workspace for credits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct SendAddCreditsNudgeEmailParams {
    /// What the owner is asked for.
    pub credit_type: AddCreditsNudgeCreditType,
}

/// Reply to `account/sendAddCreditsNudgeEmail`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendAddCreditsNudgeEmailResponse {
    /// State that it is in.
    pub status: AddCreditsNudgeEmailStatus,
}

/// Reply to `account/usage/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct GetAccountTokenUsageResponse {
    /// Use day by day; null if unknown.
    pub daily_usage_buckets: Option<Vec<AccountTokenUsageDailyBucket>>,
    /// Figures in sum, or a short text.
    pub summary: AccountTokenUsageSummary,
    /// Use of one thread; null if it was not asked for.
    #[since("0.169")]
    pub thread_usage: Option<ThreadUsage>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ConsumeAccountRateLimitResetCreditOutcome {
    /// Already redeemed.
    AlreadyRedeemed,
    /// No credit.
    NoCredit,
    /// Nothing to reset.
    NothingToReset,
    /// Reset.
    Reset,
}

/// Whether a message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddCreditsNudgeEmailStatus {
    /// Cooldown active.
    CooldownActive,
    /// Sent.
    Sent,
}

/// What the owner is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddCreditsNudgeCreditType {
    /// Credits.
    Credits,
    /// Usage limit.
    UsageLimit,
}

/// Use of one thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUsage {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Estimated use, in millionths of a credit.
    pub estimated_usage_credits_micros: i64,
    /// Estimated use, in millionths of a dollar; null if unknown.
    pub estimated_usage_usd_micros: Option<i64>,
    /// Use by model and speed.
    pub groups: Vec<ThreadUsageBreakdownGroup>,
    /// Use at the provider's prices, in millionths of a dollar; null if unknown.
    pub native_usage_usd_micros: Option<i64>,
}

/// Use with one model and speed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUsageBreakdownGroup {
    /// Input tokens taken from the provider's cache; null if unknown.
    pub cached_input_tokens: Option<i64>,
    /// Estimated use, in millionths of a credit.
    pub estimated_usage_credits_micros: i64,
    /// Input tokens; null if unknown.
    pub input_tokens: Option<i64>,
    /// Slug of the model.
    pub model: Option<String>,
    /// Input tokens that were not in a cache; null if unknown.
    pub net_new_input_tokens: Option<i64>,
    /// Output tokens; null if unknown.
    pub output_tokens: Option<i64>,
    /// Effort of the model; null if unknown.
    pub reasoning_effort: Option<String>,
    /// Processing tier.
    pub speed: Option<String>,
    /// All tokens; null if unknown.
    pub total_tokens: Option<i64>,
}

/// Use of an account in sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountTokenUsageSummary {
    /// Days in a row with use, up to today; null if unknown.
    pub current_streak_days: Option<i64>,
    /// Tokens since the account exists; null if unknown.
    pub lifetime_tokens: Option<i64>,
    /// Longest turn, in seconds; null if unknown.
    pub longest_running_turn_sec: Option<i64>,
    /// Most days in a row with use; null if unknown.
    pub longest_streak_days: Option<i64>,
    /// Most tokens of one day; null if unknown.
    pub peak_daily_tokens: Option<i64>,
}

/// Use of one day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountTokenUsageDailyBucket {
    /// First day, as a date.
    pub start_date: String,
    /// Tokens of the day.
    pub tokens: i64,
}

/// None
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct GetAccountTokenUsageParams {
    /// Thread that it concerns.
    pub thread_id: Option<String>,
}

/// Reply to `account/securitySetup/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetAccountSecuritySetupResponse {
    /// What the user should do; null if there is nothing.
    pub notice: Option<AccountSecuritySetupNotice>,
}

/// Something that a user should do for the security of an account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountSecuritySetupNotice {
    /// Account that it concerns.
    pub account_id: String,
    /// Id of the user.
    pub user_id: String,
    /// Title for people.
    pub title: String,
    /// Description for people.
    pub description: String,
    /// What to do.
    pub action: AccountSecuritySetupAction,
}

/// What a user should do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountSecuritySetupAction {
    /// Text of the link.
    pub label: String,
    /// Address of the link.
    pub url: String,
}

/// Reply to `account/workspaceMessages/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetWorkspaceMessagesResponse {
    /// Whether the workspace has messages.
    pub feature_enabled: bool,
    /// The messages.
    pub messages: Vec<WorkspaceMessage>,
}

/// A message of the workspace's owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceMessage {
    /// Id of the message.
    pub message_id: String,
    /// Kind of message.
    pub message_type: WorkspaceMessageType,
    /// Text of it.
    pub message_body: String,
    /// When it was created, in Unix seconds; null if unknown.
    pub created_at: Option<i64>,
    /// When it was put away, in Unix seconds; null if it was not.
    pub archived_at: Option<i64>,
}

/// Kind of a workspace message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WorkspaceMessageType {
    /// For everybody.
    Announcement,
    /// Above everything else.
    Headline,
    /// Another kind.
    Unknown,
}
