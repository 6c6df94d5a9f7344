//! The ids of the two items around a review.

use codex_app_server_protocol::v2::ThreadItem;

use super::place::ItemPlace;
use crate::dialect::rows::Dialect;

/// The item with the id of its turn.
pub(super) fn older(
    dialect: Dialect,
    item: &ThreadItem,
    place: ItemPlace<'_>,
) -> Option<ThreadItem> {
    if dialect.has_ids_of_review_items() {
        return None;
    }
    match item {
        ThreadItem::EnteredReviewMode { review, .. } => Some(ThreadItem::EnteredReviewMode {
            id: place.turn.to_owned(),
            review: review.clone(),
        }),
        ThreadItem::ExitedReviewMode { review, .. } => Some(ThreadItem::ExitedReviewMode {
            id: place.turn.to_owned(),
            review: review.clone(),
        }),
        _ => None,
    }
}
