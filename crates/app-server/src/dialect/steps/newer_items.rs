//! Items that 0.117 does not have.

use codex_app_server_protocol::ServerNotification;

use crate::dialect::rows::Dialect;
use crate::projection::{Moment, is_newer_item, make_item_older, make_items_older};

pub(super) fn older(
    dialect: Dialect,
    notification: &ServerNotification,
    _: &Moment,
) -> Option<ServerNotification> {
    let is_newer = match notification {
        ServerNotification::ItemStarted(started) => is_newer_item(&started.item),
        ServerNotification::ItemCompleted(completed) => is_newer_item(&completed.item),
        ServerNotification::TurnCompleted(ended) => {
            ended.turn.items.iter().any(|item| is_newer_item(item))
        }
        _ => false,
    };
    if !is_newer || dialect.has_newer_items() {
        return None;
    }
    let mut older = notification.clone();
    match &mut older {
        ServerNotification::ItemStarted(started) => {
            make_item_older(&mut started.item.item, &started.thread_id);
        }
        ServerNotification::ItemCompleted(completed) => {
            make_item_older(&mut completed.item.item, &completed.thread_id);
        }
        ServerNotification::TurnCompleted(ended) => {
            make_items_older(&mut ended.turn, &ended.thread_id);
        }
        _ => {}
    }
    Some(older)
}
