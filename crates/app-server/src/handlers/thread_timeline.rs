//! `thread/timeline/list`: everything that happened in a thread, newest page first. A page is in the order of the thread.

use std::ops::Range;
use std::sync::Arc;

use codex_app_server_protocol::v2::{
    ThreadTimelineEntry, ThreadTimelineListParams, ThreadTimelineListResponse, Turn, TurnStatus,
};
use codex_projection::id_of;
use serde::{Deserialize, Serialize};

use super::call::RequestContext;
use super::stored::record;
use super::stored_turns::StoredTurns;
use super::thread_read::source_of_turns;
use super::{archived, blocking, thread_id};
use crate::failure::Failure;

/// The default page size.
const PAGE: u32 = 25;
/// The largest page size.
const LARGEST_PAGE: u32 = 100;

/// The entry before which the next page ends.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct TimelineCursor {
    turn: usize,
    entry: usize,
}

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: ThreadTimelineListParams,
) -> Result<ThreadTimelineListResponse, Failure> {
    let invalid = |_| Failure::invalid("invalid thread timeline cursor");
    let cursor = params.cursor.as_deref();
    let before = cursor.map(|cursor| serde_json::from_str(cursor).map_err(invalid));
    let before = before.transpose()?;
    let limit = params.limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE) as usize;
    let source = source_of_turns(&server, &params.thread_id, "thread/timeline/list");
    let (path, running) = source.await?;
    let id = thread_id(&params.thread_id)?;
    if record(&server, &id)
        .await?
        .is_some_and(|record| record.archived)
    {
        return Err(archived(&id));
    }
    let server = Arc::clone(&server);
    blocking(move || page(&StoredTurns::open(&server, path, running)?, before, limit)).await
}

fn page(
    turns: &StoredTurns,
    before: Option<TimelineCursor>,
    limit: usize,
) -> Result<ThreadTimelineListResponse, Failure> {
    let count = turns.ids().len();
    let mut at = before.map_or(count, |cursor| cursor.turn.saturating_add(1).min(count));
    let end = at;
    let mut newest_first = Vec::new();
    while at > 0 {
        at -= 1;
        for turn in turns.read(at..at + 1)? {
            let entries = entries(turn).into_iter().enumerate();
            let mut entries: Vec<_> = entries.collect();
            if let Some(cursor) = before.filter(|cursor| cursor.turn == at) {
                entries.truncate(cursor.entry);
            }
            for (number, entry) in entries.into_iter().rev() {
                if newest_first.len() == limit {
                    let next = TimelineCursor {
                        turn: at,
                        entry: number + 1,
                    };
                    return Ok(response(placed(newest_first, turns, at..end)?, Some(next)));
                }
                newest_first.push(entry);
            }
        }
    }
    Ok(response(placed(newest_first, turns, 0..end)?, None))
}

/// Sets the positions of entries of these turns.
fn placed(
    mut newest_first: Vec<ThreadTimelineEntry>,
    turns: &StoredTurns,
    wanted: Range<usize>,
) -> Result<Vec<ThreadTimelineEntry>, Failure> {
    let ordinals = turns.ordinals(wanted)?;
    let mut last = 0;
    for entry in newest_first.iter_mut().rev() {
        let (place, found) = match entry {
            ThreadTimelineEntry::TurnStarted {
                position, turn_id, ..
            } => (position, ordinals.started(turn_id)),
            ThreadTimelineEntry::Item {
                position,
                turn_id,
                item,
            } => (position, ordinals.item(turn_id, id_of(item))),
            ThreadTimelineEntry::TurnCompleted {
                position, turn_id, ..
            } => (position, ordinals.completed(turn_id)),
            _ => continue,
        };
        // What is not in the file yet comes after the rest.
        *place = found.unwrap_or(last + 1);
        last = *place;
    }
    Ok(newest_first)
}

fn response(
    mut newest_first: Vec<ThreadTimelineEntry>,
    next: Option<TimelineCursor>,
) -> ThreadTimelineListResponse {
    newest_first.reverse();
    ThreadTimelineListResponse {
        active_realtime_session_at_page_start: None,
        data: newest_first,
        next_cursor: next.and_then(|cursor| serde_json::to_string(&cursor).ok()),
    }
}

/// The start of a turn, its items, and its end, without positions.
fn entries(turn: Turn) -> Vec<ThreadTimelineEntry> {
    let mut entries = vec![ThreadTimelineEntry::TurnStarted {
        position: 0,
        started_at: turn.started_at,
        turn_id: turn.id.clone(),
    }];
    entries.extend(
        turn.items
            .into_iter()
            .map(|item| ThreadTimelineEntry::Item {
                item: Box::new(item),
                position: 0,
                turn_id: turn.id.clone(),
            }),
    );
    if turn.status != TurnStatus::InProgress {
        entries.push(ThreadTimelineEntry::TurnCompleted {
            completed_at: turn.completed_at,
            duration_ms: turn.duration_ms,
            error: turn.error,
            position: 0,
            started_at: turn.started_at,
            status: turn.status,
            turn_id: turn.id,
        });
    }
    entries
}
