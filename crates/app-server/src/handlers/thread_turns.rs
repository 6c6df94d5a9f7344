//! `thread/turns/list`: the turns of a thread, a page at a time, from either end.

use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    SortDirection, ThreadItem, ThreadTurnsListParams, ThreadTurnsListResponse, Turn, TurnItemsView,
};
use serde::{Deserialize, Serialize};

use super::thread_read;
use crate::connection::Responder;
use crate::failure::Failure;
use crate::server::Server;

const LIMIT: u32 = 25;
const MOST: u32 = 100;

/// Where a page begins.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cursor {
    turn_id: String,
    /// Whether the page has that turn, or begins after it.
    include_anchor: bool,
}

pub(super) async fn list(
    server: &Arc<Server>,
    params: ThreadTurnsListParams,
    reply: Responder<method::ThreadTurnsList>,
) {
    let thread = params.thread_id.clone();
    let turns = thread_read::turns(server, thread).await;
    reply.reply(turns.and_then(|turns| page(turns, &params)));
}

fn page(
    mut turns: Vec<Turn>,
    params: &ThreadTurnsListParams,
) -> Result<ThreadTurnsListResponse, Failure> {
    if params.sort_direction.unwrap_or_default() == SortDirection::Desc {
        turns.reverse();
    }
    let start = match &params.cursor {
        None => 0,
        Some(cursor) => position(&turns, cursor)
            .ok_or_else(|| Failure::invalid(format!("invalid cursor: {cursor}")))?,
    };
    let limit = params.limit.unwrap_or(LIMIT).clamp(1, MOST) as usize;
    turns.drain(..start);
    let has_more = turns.len() > limit;
    turns.truncate(limit);
    let cursor = |turn: &Turn, include_anchor| {
        let turn_id = turn.id.clone();
        serde_json::to_string(&Cursor {
            turn_id,
            include_anchor,
        })
        .ok()
    };
    let next_cursor = turns.last().filter(|_| has_more);
    let next_cursor = next_cursor.and_then(|last| cursor(last, false));
    let backwards_cursor = turns.first().and_then(|first| cursor(first, true));
    let view = params.items_view.unwrap_or_default();
    Ok(ThreadTurnsListResponse {
        data: turns.into_iter().map(|turn| viewed(turn, view)).collect(),
        next_cursor,
        backwards_cursor,
    })
}

fn position(turns: &[Turn], cursor: &str) -> Option<usize> {
    let cursor: Cursor = serde_json::from_str(cursor).ok()?;
    let anchor = turns.iter().position(|turn| turn.id == cursor.turn_id)?;
    Some(anchor + usize::from(!cursor.include_anchor))
}

fn viewed(mut turn: Turn, view: TurnItemsView) -> Turn {
    turn.items_view = Some(view);
    match view {
        TurnItemsView::Full => {}
        TurnItemsView::NotLoaded => turn.items.clear(),
        TurnItemsView::Summary => turn.items = summary(turn.items),
    }
    turn
}

/// What the user said first and what the agent said last.
fn summary(items: Vec<ThreadItem>) -> Vec<ThreadItem> {
    let said = |item: &ThreadItem| matches!(item, ThreadItem::UserMessage { .. });
    let answered = |item: &ThreadItem| matches!(item, ThreadItem::AgentMessage { .. });
    let (first, last) = (
        items.iter().position(said),
        items.iter().rposition(answered),
    );
    let is_kept = |at: usize| Some(at) == first || Some(at) == last;
    let items = items.into_iter().enumerate();
    items
        .filter_map(|(at, item)| is_kept(at).then_some(item))
        .collect()
}

#[cfg(test)]
mod tests {
    use codex_app_server_protocol::v2::TurnStatus;

    use super::*;

    fn turns() -> Vec<Turn> {
        let turn = |number: u32| Turn {
            id: number.to_string(),
            items: vec![
                ThreadItem::UserMessage {
                    id: "a".to_owned(),
                    content: Vec::new(),
                },
                ThreadItem::Plan {
                    id: "b".to_owned(),
                    text: String::new(),
                },
            ],
            status: TurnStatus::Completed,
            error: None,
            started_at: None,
            completed_at: None,
            duration_ms: None,
            items_view: None,
        };
        (0..5).map(turn).collect()
    }

    fn ids(response: &ThreadTurnsListResponse) -> Vec<&str> {
        let turns = response.data.iter();
        turns.map(|turn| turn.id.as_str()).collect()
    }

    #[test]
    fn pages_go_either_way_and_back() {
        let mut params = ThreadTurnsListParams {
            thread_id: String::new(),
            cursor: None,
            limit: Some(2),
            sort_direction: None,
            items_view: None,
        };
        let first = page(turns(), &params).unwrap();
        assert_eq!(ids(&first), ["4", "3"]);
        assert_eq!(first.data[0].items.len(), 1);
        params.cursor = first.next_cursor;
        let second = page(turns(), &params).unwrap();
        assert_eq!(ids(&second), ["2", "1"]);
        params.cursor = second.next_cursor;
        let third = page(turns(), &params).unwrap();
        assert_eq!(ids(&third), ["0"]);
        assert_eq!(third.next_cursor, None);
        params.cursor = second.backwards_cursor;
        params.sort_direction = Some(SortDirection::Asc);
        params.items_view = Some(TurnItemsView::NotLoaded);
        let back = page(turns(), &params).unwrap();
        assert_eq!(ids(&back), ["2", "3"]);
        assert!(back.data[0].items.is_empty());
        params.cursor = Some("elsewhere".to_owned());
        assert!(page(turns(), &params).is_err());
    }
}
