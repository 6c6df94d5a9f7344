//! The paths of files that a command reads.

use codex_app_server_protocol::ServerNotification;

use crate::dialect::rows::Dialect;
use crate::projection::{Moment, reads_files, shorten_paths};

pub(super) fn older(
    dialect: Dialect,
    notification: &ServerNotification,
    _: &Moment,
) -> Option<ServerNotification> {
    let item = match notification {
        ServerNotification::ItemStarted(started) => &started.item,
        ServerNotification::ItemCompleted(completed) => &completed.item,
        _ => return None,
    };
    if !reads_files(item) || dialect.has_absolute_reads() {
        return None;
    }
    let mut older = notification.clone();
    let item = match &mut older {
        ServerNotification::ItemStarted(started) => &mut started.item,
        ServerNotification::ItemCompleted(completed) => &mut completed.item,
        _ => return None,
    };
    shorten_paths(&mut item.item).then_some(older)
}
