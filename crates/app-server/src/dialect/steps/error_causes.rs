//! The causes of errors that 0.117 does not know.

use codex_app_server_protocol::ServerNotification;

use crate::dialect::rows::Dialect;
use crate::projection::{Moment, has_newer_cause, older_error};

pub(super) fn older(
    dialect: Dialect,
    notification: &ServerNotification,
    _: &Moment,
) -> Option<ServerNotification> {
    let error = match notification {
        ServerNotification::Error(failed) => Some(&failed.error),
        ServerNotification::TurnCompleted(ended) => ended.turn.error.as_ref(),
        _ => None,
    };
    if dialect.has_all_error_causes() || !error.is_some_and(has_newer_cause) {
        return None;
    }
    let mut older = notification.clone();
    match &mut older {
        ServerNotification::Error(failed) => older_error(&mut failed.error),
        ServerNotification::TurnCompleted(ended) => {
            ended.turn.error.iter_mut().for_each(older_error);
        }
        _ => {}
    }
    Some(older)
}
