//! The ids of the two items around a review.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::ThreadItem;

use crate::dialect::rows::Dialect;
use crate::projection::Moment;

pub(super) fn older(
    dialect: Dialect,
    notification: &ServerNotification,
    _: &Moment,
) -> Option<ServerNotification> {
    let is_there = match notification {
        ServerNotification::ItemStarted(started) => is_around_review(&started.item),
        ServerNotification::ItemCompleted(completed) => is_around_review(&completed.item),
        ServerNotification::TurnCompleted(ended) => {
            ended.turn.items.iter().any(|item| is_around_review(item))
        }
        _ => false,
    };
    if !is_there || dialect.has_ids_of_review_items() {
        return None;
    }
    let mut older = notification.clone();
    match &mut older {
        ServerNotification::ItemStarted(started) => {
            name_after_turn(&mut started.item.item, &started.turn_id);
        }
        ServerNotification::ItemCompleted(completed) => {
            name_after_turn(&mut completed.item.item, &completed.turn_id);
        }
        ServerNotification::TurnCompleted(ended) => {
            for item in &mut ended.turn.items {
                name_after_turn(&mut item.item, &ended.turn.id);
            }
        }
        _ => {}
    }
    Some(older)
}

fn is_around_review(item: &ThreadItem) -> bool {
    matches!(
        item,
        ThreadItem::EnteredReviewMode { .. } | ThreadItem::ExitedReviewMode { .. }
    )
}

/// Gives an item around a review the id of its turn.
fn name_after_turn(item: &mut ThreadItem, turn: &str) {
    if let ThreadItem::EnteredReviewMode { id, .. } | ThreadItem::ExitedReviewMode { id, .. } = item
    {
        turn.clone_into(id);
    }
}
