//! Automatic reviews of approvals as notifications.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::*;
use codex_protocol as v1;

/// The verdict as a sentence, for clients that show it as a warning.
pub(super) fn review_warning(
    thread_id: String,
    event: &v1::GuardianAssessmentEvent,
) -> Option<ServerNotification> {
    let verdict = match event.status {
        v1::GuardianAssessmentStatus::Approved => "approved",
        v1::GuardianAssessmentStatus::Denied => "denied",
        v1::GuardianAssessmentStatus::InProgress | v1::GuardianAssessmentStatus::Aborted => {
            return None;
        }
    };
    let risk = match event.risk_level {
        Some(v1::GuardianRiskLevel::Low) => "low",
        Some(v1::GuardianRiskLevel::Medium) => "medium",
        Some(v1::GuardianRiskLevel::High) => "high",
        Some(v1::GuardianRiskLevel::Critical) => "critical",
        None => "unknown",
    };
    let why = event.rationale.as_deref().unwrap_or_default();
    let message = format!("Automatic approval review {verdict} the request (risk: {risk}): {why}");
    Some(ServerNotification::GuardianWarning(
        GuardianWarningNotification { thread_id, message },
    ))
}

/// The notification for the begin or the end of a review.
pub(super) fn approval_review(
    thread_id: String,
    event: &v1::GuardianAssessmentEvent,
) -> ServerNotification {
    let review = GuardianApprovalReview {
        status: match event.status {
            v1::GuardianAssessmentStatus::InProgress => GuardianApprovalReviewStatus::InProgress,
            v1::GuardianAssessmentStatus::Approved => GuardianApprovalReviewStatus::Approved,
            v1::GuardianAssessmentStatus::Denied => GuardianApprovalReviewStatus::Denied,
            v1::GuardianAssessmentStatus::Aborted => GuardianApprovalReviewStatus::Aborted,
        },
        risk_score: event.risk_score,
        risk_level: event.risk_level,
        user_authorization: event
            .user_authorization
            .map(|authorization| match authorization {
                v1::GuardianUserAuthorization::Unknown => GuardianUserAuthorization::Unknown,
                v1::GuardianUserAuthorization::Low => GuardianUserAuthorization::Low,
                v1::GuardianUserAuthorization::Medium => GuardianUserAuthorization::Medium,
                v1::GuardianUserAuthorization::High => GuardianUserAuthorization::High,
            }),
        rationale: event.rationale.clone(),
    };
    let turn_id = event.turn_id.clone();
    let target_item_id = event.id.clone();
    let action = event.action.clone().unwrap_or_default();
    let review_id = event.review_id.clone();
    let started_at_ms = event.started_at_ms;
    if event.status == v1::GuardianAssessmentStatus::InProgress {
        return ServerNotification::ItemGuardianApprovalReviewStarted(
            ItemGuardianApprovalReviewStartedNotification {
                thread_id,
                turn_id,
                target_item_id,
                review,
                action,
                review_id,
                started_at_ms,
            },
        );
    }
    ServerNotification::ItemGuardianApprovalReviewCompleted(
        ItemGuardianApprovalReviewCompletedNotification {
            thread_id,
            turn_id,
            target_item_id,
            review,
            action,
            review_id,
            started_at_ms,
            completed_at_ms: event.completed_at_ms,
            decision_source: Some(GuardianDecisionSource::Agent),
        },
    )
}
