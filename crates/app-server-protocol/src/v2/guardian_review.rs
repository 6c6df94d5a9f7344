//! Warnings of the automatic reviewer, and how its verdicts are overruled.

use codex_app_server_protocol_macros::Experimental;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::v2::GuardianRiskLevel;

/// Payload of `autoApprovalReview/strictReviewRequired`: the rest of a turn is reviewed strictly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StrictReviewRequiredNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// When it started, in Unix milliseconds.
    pub started_at_ms: i64,
    /// Turn that it concerns.
    pub turn_id: String,
}

/// Payload of `guardianWarning`: the automatic reviewer warns of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardianWarningNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Text for people.
    pub message: String,
}

/// Params of `thread/approveGuardianDeniedAction`: lets an action go on that the automatic reviewer denied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadApproveGuardianDeniedActionParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// The event of the denial, as the review sent it.
    pub event: Value,
}

/// Reply to `thread/approveGuardianDeniedAction`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadApproveGuardianDeniedActionResponse {}

/// Params of `thread/guardianReview`: has the automatic reviewer judge the last call of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGuardianReviewParams {
    /// Thread that it concerns.
    pub thread_id: String,
}

/// Reply to `thread/guardianReview`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGuardianReviewResponse {
    /// The verdict; null if there is none.
    pub assessment: Option<ThreadGuardianAssessment>,
    /// Call that was reviewed.
    pub call_id: String,
}

/// Verdict of the automatic reviewer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGuardianAssessment {
    /// What came of it.
    pub outcome: GuardianAssessmentOutcome,
    /// Why the reviewer decided so; null if it gave no reason.
    pub rationale: String,
    /// Risk that the reviewer sees; null if it gave none.
    pub risk_level: GuardianRiskLevel,
    /// How far the user has authorised it; null if unknown.
    pub user_authorization: GuardianUserAuthorization,
}

/// How far the user has authorised an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GuardianUserAuthorization {
    /// High.
    High,
    /// Low.
    Low,
    /// Medium.
    Medium,
    /// Unknown.
    Unknown,
}

/// Whether the action may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GuardianAssessmentOutcome {
    /// Allow.
    Allow,
    /// Deny.
    Deny,
}
