//! The paths in the diff of a turn outside a repository.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::TurnDiffUpdatedNotification;

use crate::Moment;
use crate::dialect::rows::Dialect;

pub(super) fn older(
    dialect: Dialect,
    notification: &ServerNotification,
    moment: &Moment,
) -> Option<ServerNotification> {
    let (ServerNotification::TurnDiffUpdated(relative), Moment::DiffedOutsideRepository(diff)) =
        (notification, moment)
    else {
        return None;
    };
    if dialect.has_relative_diffs() {
        return None;
    }
    Some(ServerNotification::TurnDiffUpdated(
        TurnDiffUpdatedNotification {
            diff: diff.clone(),
            ..relative.clone()
        },
    ))
}
