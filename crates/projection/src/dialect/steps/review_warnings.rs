//! The verdict of an automatic review as a warning.

use codex_app_server_protocol::ServerNotification;

use crate::Change;
use crate::dialect::rows::Dialect;

pub(super) fn is_sent(dialect: Dialect, change: &Change) -> bool {
    let is_verdict = matches!(change.notification, ServerNotification::GuardianWarning(_));
    !is_verdict || dialect.has_review_warnings()
}
