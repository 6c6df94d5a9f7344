//! Pages of the items of a thread, in either direction.

use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server_protocol::v2::{
    CommandExecutionStatus, McpToolCallStatus, SortDirection, ThreadItem, ThreadItemAnchor,
    ThreadItemEntry, ThreadItemsCursor, ThreadItemsDeferOutput, ThreadItemsListParams,
    ThreadItemsListResponse, TimedItem, Turn,
};
use codex_projection::id_of;
use serde::{Deserialize, Serialize};

use super::turns::StoredTurns;
use crate::blocking::blocking;
use crate::failure::Failure;
use crate::server::AppServer;

const LIMIT: u32 = 25;
pub(crate) const MAX_PAGE_ITEMS: u32 = 100;

/// The position of an item: in its turn, and of its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ItemPosition {
    turn: usize,
    item: usize,
}

pub(crate) fn page_of_file(
    server: &AppServer,
    path: PathBuf,
    running: Option<Turn>,
    params: &ThreadItemsListParams,
) -> Result<ThreadItemsListResponse, Failure> {
    let turns = StoredTurns::open(server, path, running)?;
    let ids = turns.ids();
    let turns_at = |at: usize| turns.read(at..at + 1);
    let anchor = match &params.cursor {
        Some(ThreadItemsCursor::Item(ThreadItemAnchor::Item { item_id })) => {
            Some(anchor(&ids, params.turn_id.as_deref(), item_id, turns_at)?)
        }
        _ => None,
    };
    let asked = ItemQuery::new(params, anchor)?;
    let mut gathered = ItemPage::default();
    if asked.is_nothing {
        return Ok(gathered.response(asked.limit));
    }
    for at in asked.turns(&ids) {
        let is_enough = asked.gather(at, turns_at(at)?, &mut gathered);
        if is_enough {
            break;
        }
    }
    Ok(gathered.response(asked.limit))
}

/// The position of an item in the listed turn.
fn anchor(
    ids: &[&str],
    turn: Option<&str>,
    item_id: &str,
    turns_at: impl Fn(usize) -> Result<Vec<Turn>, Failure>,
) -> Result<ItemPosition, Failure> {
    let Some(turn) = turn else {
        let message = "turnId is required when cursor is an item anchor";
        return Err(Failure::invalid_params(message));
    };
    let missing = || {
        let message = "cursor.itemId does not identify an item in the requested history scope";
        Failure::invalid_params(message)
    };
    let at = ids.iter().position(|id| *id == turn).ok_or_else(missing)?;
    let turns = turns_at(at)?;
    let mut items = turns.iter().flat_map(|turn| &turn.items);
    let item = items.position(|item| id_of(item) == item_id);
    let item = item.ok_or_else(missing)?;
    Ok(ItemPosition { turn: at, item })
}

/// The items that a request selects.
struct ItemQuery<'a> {
    turn: Option<&'a str>,
    from: Option<ItemPosition>,
    direction: SortDirection,
    limit: usize,
    is_nothing: bool,
    defer: ThreadItemsDeferOutput,
}

impl ItemPosition {
    /// The next position in the same turn; none before the first item.
    fn after(self, direction: SortDirection) -> Option<Self> {
        let item = match direction {
            SortDirection::Asc => self.item + 1,
            SortDirection::Desc => self.item.checked_sub(1)?,
        };
        Some(Self { item, ..self })
    }
}

impl<'a> ItemQuery<'a> {
    /// `anchor` is the position of the item that the params name as the start, exclusively.
    fn new(
        params: &'a ThreadItemsListParams,
        anchor: Option<ItemPosition>,
    ) -> Result<Self, Failure> {
        let position = |cursor: &String| {
            let invalid = |_| Failure::invalid(format!("invalid cursor: {cursor}"));
            serde_json::from_str(cursor).map_err(invalid)
        };
        let direction = params.sort_direction.unwrap_or(SortDirection::Asc);
        let from = match (&params.cursor, anchor) {
            (Some(ThreadItemsCursor::Page(cursor)), _) => Some(position(cursor)?),
            (_, Some(anchor)) => anchor.after(direction),
            _ => None,
        };
        Ok(Self {
            turn: params.turn_id.as_deref(),
            // No item of the turn comes before its first one.
            is_nothing: anchor.is_some() && from.is_none(),
            from,
            direction,
            limit: params.limit.unwrap_or(LIMIT).clamp(1, MAX_PAGE_ITEMS) as usize,
            defer: params
                .defer_output
                .filter(|_| params.turn_id.is_some())
                .unwrap_or_default(),
        })
    }

    /// The positions of the turns that may have matching items, in the requested order.
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

    /// Adds the items of a turn. Returns true when there is one item more than the page holds.
    fn gather(&self, turn: usize, turns: Vec<Turn>, gathered: &mut ItemPage) -> bool {
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
                    entries.push((position, entry(&id, content, self.defer)));
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

/// The items of a page, and one more if there is a next page.
#[derive(Default)]
struct ItemPage(Vec<(ItemPosition, ThreadItemEntry)>);

impl ItemPage {
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

pub(crate) fn entry(
    turn: &str,
    mut item: TimedItem,
    defer: ThreadItemsDeferOutput,
) -> ThreadItemEntry {
    let output_deferred = match &mut item.item {
        ThreadItem::CommandExecution {
            aggregated_output,
            status: CommandExecutionStatus::Completed,
            ..
        } if defer.command_execution => aggregated_output.take().is_some(),
        ThreadItem::McpToolCall {
            result,
            status: McpToolCallStatus::Completed,
            ..
        } if defer.mcp_tool_call => result.take().is_some(),
        _ => false,
    };
    ThreadItemEntry {
        turn_id: turn.to_owned(),
        started_at_ms: item.started_at_ms,
        completed_at_ms: item.completed_at_ms,
        item,
        output_deferred,
    }
}

/// The cursor of the newest item; none if there is none.
pub(crate) async fn newest_cursor(
    server: &Arc<AppServer>,
    path: PathBuf,
) -> Result<Option<String>, Failure> {
    let params = ThreadItemsListParams {
        thread_id: String::new(),
        turn_id: None,
        cursor: None,
        limit: Some(1),
        sort_direction: Some(SortDirection::Desc),
        defer_output: None,
    };
    let server = Arc::clone(server);
    let page = blocking(move || page_of_file(&server, path, None, &params)).await?;
    Ok(page.backwards_cursor)
}
