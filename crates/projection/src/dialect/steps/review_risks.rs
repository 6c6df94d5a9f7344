//! The risk that an automatic review sees.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::GuardianRiskLevel;

use crate::Moment;
use crate::dialect::rows::Dialect;

pub(super) fn older(
    dialect: Dialect,
    notification: &ServerNotification,
    _: &Moment,
) -> Option<ServerNotification> {
    let ServerNotification::ItemGuardianApprovalReviewCompleted(completed) = notification else {
        return None;
    };
    let is_critical = completed.review.risk_level == Some(GuardianRiskLevel::Critical);
    if !is_critical || dialect.has_critical_risk() {
        return None;
    }
    let mut older = completed.clone();
    older.review.risk_level = Some(GuardianRiskLevel::High);
    Some(ServerNotification::ItemGuardianApprovalReviewCompleted(
        older,
    ))
}
