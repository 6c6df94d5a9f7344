//! Automatic review of approval requests, as shown to clients while it lasts. Unstable: the shape
//! of these notifications may change.

use codex_app_server_protocol_macros::Experimental;
use codex_protocol::{GuardianRiskLevel, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::v2::GuardianUserAuthorization;

/// Payload of `item/autoApprovalReview/started`: an agent begins to judge an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ItemGuardianApprovalReviewStartedNotification {
    /// Thread that wants to act.
    pub thread_id: String,
    /// Turn that waits for the verdict.
    pub turn_id: String,
    /// Id of the call under review; it may have no item yet, and gets none if denied.
    pub target_item_id: String,
    /// The review so far.
    pub review: GuardianApprovalReview,
    /// Short description of the action as JSON; null if there is none.
    #[serde(default)]
    pub action: Value,
    /// Id of the review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub review_id: Option<String>,
    /// When the review began, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub started_at_ms: Option<i64>,
}

/// Payload of `item/autoApprovalReview/completed`: the verdict on an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ItemGuardianApprovalReviewCompletedNotification {
    /// Thread that wants to act.
    pub thread_id: String,
    /// Turn that waited for the verdict.
    pub turn_id: String,
    /// Id of the call under review.
    pub target_item_id: String,
    /// The review with its verdict.
    pub review: GuardianApprovalReview,
    /// Short description of the action as JSON; null if there is none.
    #[serde(default)]
    pub action: Value,
    /// Id of the review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub review_id: Option<String>,
    /// When the review began, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub started_at_ms: Option<i64>,
    /// When the review ended, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub completed_at_ms: Option<i64>,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub decision_source: Option<GuardianDecisionSource>,
}

/// Who decides about an action that is reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GuardianDecisionSource {
    /// The reviewer.
    Agent,
}

/// Automatic review of one action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct GuardianApprovalReview {
    /// Whether the review runs, or its verdict.
    pub status: GuardianApprovalReviewStatus,
    /// Risk from 0 to 100, which alone decides; null without a verdict.
    #[until("0.117")]
    pub risk_score: Option<u8>,
    /// The risk in a word, for display; null without a verdict.
    pub risk_level: Option<GuardianRiskLevel>,
    /// How far the user asked for the action; null if the reviewer does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub user_authorization: Option<GuardianUserAuthorization>,
    /// Why the reviewer judged so; null without a verdict.
    pub rationale: Option<String>,
}

/// State of an automatic review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GuardianApprovalReviewStatus {
    /// The reviewer has not answered yet.
    InProgress,
    /// The action goes ahead this once.
    Approved,
    /// The action is refused: too risky, or the reviewer failed or timed out.
    Denied,
    /// The turn was interrupted before a verdict.
    Aborted,
}
