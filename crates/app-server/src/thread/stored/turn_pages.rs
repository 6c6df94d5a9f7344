//! Pages of the turns of a thread, in either direction.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server_protocol::v2::{
    SortDirection, ThreadItem, ThreadResumeInitialTurnsPageParams, ThreadTurnsListParams,
    ThreadTurnsListResponse, TimedItem, Turn, TurnItemsView,
};
use serde::{Deserialize, Serialize};

use super::turns::StoredTurns;
use crate::blocking::blocking;
use crate::failure::Failure;
use crate::server::AppServer;

const LIMIT: u32 = 25;
const MAX_PAGE_TURNS: u32 = 100;

/// The start of a page.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TurnCursor {
    turn_id: String,
    /// Whether the page includes that turn or begins after it.
    include_anchor: bool,
    /// The number of older turns with the same id: files of other programs may repeat one.
    #[serde(default)]
    namesakes: usize,
}

/// The first page of turns for `thread/resume`, if requested.
pub(crate) async fn first_page(
    server: &Arc<AppServer>,
    path: PathBuf,
    running: Option<Turn>,
    asked: Option<ThreadResumeInitialTurnsPageParams>,
) -> Result<Option<ThreadTurnsListResponse>, Failure> {
    let Some(asked) = asked else {
        return Ok(None);
    };
    let params = ThreadTurnsListParams {
        thread_id: String::new(),
        cursor: None,
        limit: asked.limit,
        sort_direction: asked.sort_direction,
        items_view: asked.items_view,
    };
    page_of_file(server, path, running, params).await.map(Some)
}

/// The cursor of the newest turn; none if there is none.
pub(crate) async fn newest_cursor(
    server: &Arc<AppServer>,
    path: PathBuf,
) -> Result<Option<String>, Failure> {
    let server = Arc::clone(server);
    blocking(move || {
        let outline = server.outlines().get(&path);
        let outline = outline.map_err(|error| Failure::internal(error.to_string()))?;
        let ids: Vec<&str> = outline.ids().collect();
        let newest = ids.len().checked_sub(1);
        Ok(newest.and_then(|newest| cursor(&ids, newest, true)))
    })
    .await
}

pub(crate) async fn page_of_file(
    server: &Arc<AppServer>,
    path: PathBuf,
    running: Option<Turn>,
    params: ThreadTurnsListParams,
) -> Result<ThreadTurnsListResponse, Failure> {
    let server = Arc::clone(server);
    blocking(move || {
        let stored = StoredTurns::open(&server, path, running)?;
        let slice = TurnSlice::new(&stored.ids(), &params)?;
        let turns = stored.read(slice.turns.clone())?;
        Ok(slice.response(turns, params.items_view.unwrap_or_default()))
    })
    .await
}

/// A range of turns, and the cursors to continue.
#[derive(Debug)]
struct TurnSlice {
    /// Positions, oldest first.
    turns: Range<usize>,
    direction: SortDirection,
    next: Option<String>,
    back: Option<String>,
}

impl TurnSlice {
    /// The requested page of these turns, which are oldest first.
    fn new(ids: &[&str], params: &ThreadTurnsListParams) -> Result<Self, Failure> {
        let direction = params.sort_direction.unwrap_or_default();
        let limit = params.limit.unwrap_or(LIMIT).clamp(1, MAX_PAGE_TURNS) as usize;
        let anchor = match &params.cursor {
            None => None,
            Some(cursor) => Some(
                position_of(ids, cursor)
                    .ok_or_else(|| Failure::invalid(format!("invalid cursor: {cursor}")))?,
            ),
        };
        let turns = match (direction, anchor) {
            (SortDirection::Asc, anchor) => {
                let start = anchor.map_or(0, |(at, included)| at + usize::from(!included));
                start..(start + limit).min(ids.len())
            }
            (SortDirection::Desc, anchor) => {
                let end = anchor.map_or(ids.len(), |(at, included)| at + usize::from(included));
                end.saturating_sub(limit)..end
            }
        };
        if turns.is_empty() {
            return Ok(Self {
                turns,
                direction,
                next: None,
                back: None,
            });
        }
        let (first, last, has_more) = match direction {
            SortDirection::Asc => (turns.start, turns.end - 1, turns.end < ids.len()),
            SortDirection::Desc => (turns.end - 1, turns.start, turns.start > 0),
        };
        let next = has_more.then(|| cursor(ids, last, false)).flatten();
        let back = cursor(ids, first, true);
        Ok(Self {
            turns,
            direction,
            next,
            back,
        })
    }

    fn response(self, mut turns: Vec<Turn>, view: TurnItemsView) -> ThreadTurnsListResponse {
        if self.direction == SortDirection::Desc {
            turns.reverse();
        }
        ThreadTurnsListResponse {
            data: turns.into_iter().map(|turn| viewed(turn, view)).collect(),
            next_cursor: self.next,
            backwards_cursor: self.back,
        }
    }
}

/// The position that a cursor names, and whether the turn there is on the page.
fn position_of(ids: &[&str], cursor: &str) -> Option<(usize, bool)> {
    let cursor: TurnCursor = serde_json::from_str(cursor).ok()?;
    let mut namesakes = (0..ids.len()).filter(|at| ids[*at] == cursor.turn_id);
    Some((namesakes.nth(cursor.namesakes)?, cursor.include_anchor))
}

/// The cursor of a page that begins with a turn.
pub(crate) fn turn_cursor(ids: &[&str], at: usize) -> String {
    cursor(ids, at, true).unwrap_or_default()
}

fn cursor(ids: &[&str], at: usize, include_anchor: bool) -> Option<String> {
    serde_json::to_string(&TurnCursor {
        turn_id: ids[at].to_owned(),
        include_anchor,
        namesakes: ids[..at].iter().filter(|id| **id == ids[at]).count(),
    })
    .ok()
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

/// The first message of the user and the last one of the agent.
fn summary(items: Vec<TimedItem>) -> Vec<TimedItem> {
    let said = |item: &TimedItem| matches!(item.item, ThreadItem::UserMessage { .. });
    let answered = |item: &TimedItem| matches!(item.item, ThreadItem::AgentMessage { .. });
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
    use super::*;

    const IDS: [&str; 5] = ["0", "1", "2", "3", "4"];

    fn params() -> ThreadTurnsListParams {
        ThreadTurnsListParams {
            thread_id: String::new(),
            cursor: None,
            limit: Some(2),
            sort_direction: None,
            items_view: None,
        }
    }

    #[test]
    fn pages_go_either_way_and_back() {
        let mut params = params();
        let first = TurnSlice::new(&IDS, &params).unwrap();
        assert_eq!(first.turns, 3..5);
        params.cursor = first.next;
        let second = TurnSlice::new(&IDS, &params).unwrap();
        assert_eq!(second.turns, 1..3);
        params.cursor = second.next;
        let third = TurnSlice::new(&IDS, &params).unwrap();
        assert_eq!((third.turns, third.next), (0..1, None));
        params.cursor = second.back;
        params.sort_direction = Some(SortDirection::Asc);
        let back = TurnSlice::new(&IDS, &params).unwrap();
        assert_eq!(back.turns, 2..4);
        params.cursor = back.next;
        let end = TurnSlice::new(&IDS, &params).unwrap();
        assert_eq!((end.turns, end.next), (4..5, None));
        params.cursor = Some("elsewhere".to_owned());
        assert!(TurnSlice::new(&IDS, &params).is_err());
    }

    #[test]
    fn turns_with_equal_ids_are_distinguished() {
        let ids = ["a", "b", "b", "b", "c"];
        let mut params = params();
        params.limit = Some(1);
        for direction in [SortDirection::Asc, SortDirection::Desc] {
            params.sort_direction = Some(direction);
            params.cursor = None;
            let mut seen = Vec::new();
            loop {
                let page = TurnSlice::new(&ids, &params).unwrap();
                seen.extend(page.turns);
                params.cursor = page.next;
                if params.cursor.is_none() {
                    break;
                }
            }
            if direction == SortDirection::Desc {
                seen.reverse();
            }
            assert_eq!(seen, [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn thread_without_turns_has_one_empty_page() {
        for direction in [SortDirection::Asc, SortDirection::Desc] {
            let mut params = params();
            params.sort_direction = Some(direction);
            let slice = TurnSlice::new(&[], &params).unwrap();
            assert_eq!((slice.turns, slice.next, slice.back), (0..0, None, None));
        }
    }
}
