//! `thread/items/list`: the items of a thread without their turns, a page at a time, from either end;
//! and `thread/inject_items`, which puts items into what its model sees.

use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server_protocol::v2::{
    SortDirection, ThreadInjectItemsParams, ThreadInjectItemsResponse, ThreadItemEntry,
    ThreadItemsListParams, ThreadItemsListResponse, Turn,
};
use codex_protocol::ResponseItem;
use serde::{Deserialize, Serialize};

use super::call::Call;
use super::thread_read::turns_of;
use super::{blocking, engine};
use crate::failure::Failure;
use crate::server::Server;

const LIMIT: u32 = 25;
const MOST: u32 = 100;

/// Where a page begins: an item by its position in its turn, and the turn by its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ItemPosition {
    turn: usize,
    item: usize,
}

pub(super) async fn list(
    Call { server, .. }: Call,
    params: ThreadItemsListParams,
) -> Result<ThreadItemsListResponse, Failure> {
    let (path, running) = turns_of(&server, &params.thread_id).await?;
    let server = Arc::clone(&server);
    blocking(move || page_of_file(&server, path, running, &params)).await
}

fn page_of_file(
    server: &Server,
    path: PathBuf,
    running: Option<Turn>,
    params: &ThreadItemsListParams,
) -> Result<ThreadItemsListResponse, Failure> {
    let unreadable = |error| {
        let path = path.display();
        Failure::invalid(format!("failed to load rollout `{path}`: {error}"))
    };
    let outline = server.outlines().get(&path).map_err(unreadable)?;
    let mut ids: Vec<&str> = outline.ids().collect();
    let stored = ids.len();
    // One that has only just begun is not in the file yet.
    let unstored = running.as_ref().filter(|turn| !ids.contains(&&*turn.id));
    ids.extend(unstored.map(|turn| &*turn.id));
    let asked = Asked::new(params)?;
    let mut gathered = Gathered::default();
    for at in asked.turns(&ids) {
        let running = running.clone().filter(|turn| turn.id == ids[at]);
        let read = outline.turns(at.min(stored)..(at + 1).min(stored));
        let turns = read.map_err(unreadable)?.with_running(running).into_vec();
        let is_enough = asked.gather(at, turns, &mut gathered);
        if is_enough {
            break;
        }
    }
    Ok(gathered.response(asked.limit))
}

/// Which items are asked for.
struct Asked<'a> {
    turn: Option<&'a str>,
    from: Option<ItemPosition>,
    direction: SortDirection,
    limit: usize,
}

impl<'a> Asked<'a> {
    fn new(params: &'a ThreadItemsListParams) -> Result<Self, Failure> {
        let position = |cursor: &String| {
            let invalid = |_| Failure::invalid(format!("invalid cursor: {cursor}"));
            serde_json::from_str(cursor).map_err(invalid)
        };
        Ok(Self {
            turn: params.turn_id.as_deref(),
            from: params.cursor.as_ref().map(position).transpose()?,
            direction: params.sort_direction.unwrap_or(SortDirection::Asc),
            limit: params.limit.unwrap_or(LIMIT).clamp(1, MOST) as usize,
        })
    }

    /// The positions of the turns that may have some, in the order in which they are wanted.
    fn turns(&self, ids: &[&str]) -> Vec<usize> {
        let begins = |at: usize| match (self.from, self.direction) {
            (None, _) => true,
            (Some(from), SortDirection::Asc) => at >= from.turn,
            (Some(from), SortDirection::Desc) => at <= from.turn,
        };
        let is_wanted = |at: &usize| self.turn.is_none_or(|id| ids[*at] == id) && begins(*at);
        let mut turns: Vec<usize> = (0..ids.len()).filter(is_wanted).collect();
        if self.direction == SortDirection::Desc {
            turns.reverse();
        }
        turns
    }

    /// Adds the items of a turn. True once there is one more than fits on the page.
    fn gather(&self, turn: usize, turns: Vec<Turn>, gathered: &mut Gathered) -> bool {
        let mut entries = Vec::new();
        for Turn { id, items, .. } in turns {
            for (item, content) in items.into_iter().enumerate() {
                let position = ItemPosition { turn, item };
                let is_before = match (self.from, self.direction) {
                    (None, _) => false,
                    (Some(from), SortDirection::Asc) => position < from,
                    (Some(from), SortDirection::Desc) => position > from,
                };
                if !is_before {
                    let turn_id = id.clone();
                    entries.push((
                        position,
                        ThreadItemEntry {
                            turn_id,
                            item: content,
                        },
                    ));
                }
            }
        }
        if self.direction == SortDirection::Desc {
            entries.reverse();
        }
        gathered.0.extend(entries);
        gathered.0.len() > self.limit
    }
}

/// The items of a page, and perhaps of the next one.
#[derive(Default)]
struct Gathered(Vec<(ItemPosition, ThreadItemEntry)>);

impl Gathered {
    fn response(self, limit: usize) -> ThreadItemsListResponse {
        let cursor =
            |(position, _): &(ItemPosition, ThreadItemEntry)| serde_json::to_string(position).ok();
        let next_cursor = self.0.get(limit).and_then(cursor);
        let backwards_cursor = self.0.first().and_then(cursor);
        let entries = self.0.into_iter().take(limit);
        ThreadItemsListResponse {
            data: entries.map(|(_, entry)| entry).collect(),
            next_cursor,
            backwards_cursor,
        }
    }
}

pub(super) async fn inject(
    Call { server, .. }: Call,
    params: ThreadInjectItemsParams,
) -> Result<ThreadInjectItemsResponse, Failure> {
    let engine = engine(&server, &params.thread_id).await?;
    if params.items.is_empty() {
        return Err(Failure::invalid("items must not be empty"));
    }
    let items = params.items.into_iter().enumerate().map(|(at, item)| {
        let unreadable = |error| Failure::invalid(format!("items[{at}]: {error}"));
        serde_json::from_value::<ResponseItem>(item).map_err(unreadable)
    });
    let items = items.collect::<Result<Vec<_>, _>>()?;
    let claimed = engine.claim();
    claimed.map_err(|error| Failure::invalid(error.to_string()))?;
    let taken = engine.inject(items).await;
    taken.map_err(|error| Failure::internal(error.to_string()))?;
    Ok(ThreadInjectItemsResponse {})
}
