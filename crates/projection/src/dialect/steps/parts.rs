//! Items and errors within notifications and turns: whatever has one gets it in the form of the dialect.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{ThreadItem, Turn, TurnCompletedNotification, TurnError};

use super::error_causes::KnownCauses;
use super::place::ItemPlace;
use super::{newer_items, read_paths, review_items};
use crate::dialect::rows::{CommandBegin, Dialect};
use crate::{Moment, RunningTurn};

/// An item at this place in its older form, if that differs.
type ItemStep = fn(Dialect, &ThreadItem, ItemPlace<'_>) -> Option<ThreadItem>;

const ITEMS: [ItemStep; 3] = [newer_items::older, read_paths::older, review_items::older];

impl Dialect {
    /// The running turn of a thread for a client that is shown it.
    pub fn running_turn(self, thread: &str, running: RunningTurn) -> Turn {
        let RunningTurn { mut turn, asked } = running;
        if self.command_begin() == CommandBegin::WhenItIsAskedAbout {
            turn.items.extend(asked);
        }
        older_turn(self, thread, &turn).unwrap_or(turn)
    }
}

pub(super) fn older(
    dialect: Dialect,
    notification: &ServerNotification,
    _: &Moment,
) -> Option<ServerNotification> {
    match notification {
        ServerNotification::ItemStarted(started) => {
            let item = older_item(
                dialect,
                &started.item,
                ItemPlace {
                    thread: &started.thread_id,
                    turn: &started.turn_id,
                },
            )?;
            let mut older = started.clone();
            older.item.item = item;
            Some(ServerNotification::ItemStarted(older))
        }
        ServerNotification::ItemCompleted(completed) => {
            let item = older_item(
                dialect,
                &completed.item,
                ItemPlace {
                    thread: &completed.thread_id,
                    turn: &completed.turn_id,
                },
            )?;
            let mut older = completed.clone();
            older.item.item = item;
            Some(ServerNotification::ItemCompleted(older))
        }
        ServerNotification::TurnCompleted(ended) => {
            let turn = older_turn(dialect, &ended.thread_id, &ended.turn)?;
            let older = TurnCompletedNotification {
                turn,
                thread_id: ended.thread_id.clone(),
                checkpoint_id: ended.checkpoint_id.clone(),
                usage: ended.usage.clone(),
            };
            Some(ServerNotification::TurnCompleted(older))
        }
        ServerNotification::Error(failed) => {
            let error = KnownCauses::for_dialect(dialect).older(&failed.error)?;
            let mut older = failed.clone();
            older.error = error;
            Some(ServerNotification::Error(older))
        }
        _ => None,
    }
}

fn older_item(dialect: Dialect, item: &ThreadItem, place: ItemPlace<'_>) -> Option<ThreadItem> {
    let mut older = None;
    for step in ITEMS {
        let made = step(dialect, older.as_ref().unwrap_or(item), place);
        older = made.or(older);
    }
    older
}

fn older_turn(dialect: Dialect, thread: &str, turn: &Turn) -> Option<Turn> {
    let place = ItemPlace {
        thread,
        turn: &turn.id,
    };
    let item = |item: &ThreadItem| older_item(dialect, item, place);
    let items: Vec<_> = turn.items.iter().map(|one| item(&one.item)).collect();
    let error: Option<TurnError> =
        (turn.error.as_ref()).and_then(|error| KnownCauses::for_dialect(dialect).older(error));
    if error.is_none() && items.iter().all(Option::is_none) {
        return None;
    }
    let mut made = turn.clone();
    made.error = error.or(made.error);
    for (item, older) in made.items.iter_mut().zip(items) {
        if let Some(older) = older {
            item.item = older;
        }
    }
    Some(made)
}
