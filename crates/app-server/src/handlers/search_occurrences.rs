//! `thread/searchOccurrences`: every match in the messages of one thread.
//!
//! Only turns with a line that can have a match are parsed.

use std::ops::Range;
use std::sync::Arc;

use codex_app_server_protocol::v2::{
    ThreadItem, ThreadSearchOccurrence, ThreadSearchOccurrencesParams,
    ThreadSearchOccurrencesResponse, ThreadSearchTextRange, Turn,
};
use codex_projection::id_of;
use codex_protocol::MessagePhase;
use codex_rollout::ScannedLine;
use codex_thread_store::{LineFilter, SearchTerm, TextMatch};
use serde::{Deserialize, Serialize};

use super::blocking;
use super::call::RequestContext;
use super::stored_turns::StoredTurns;
use super::thread_read::source_of_turns;
use super::thread_search::{LARGEST_PAGE, PAGE, message_of, term};
use crate::failure::Failure;
use crate::thread::stored::turn_pages::turn_cursor;

/// How many turns are looked through at once.
const CHUNK: usize = 512;
/// How many turns are parsed at once.
const READ_AT_ONCE: usize = 32;
/// Types of lines without messages that are long or frequent.
const WITHOUT_MESSAGE: [&str; 8] = [
    "exec_command_end",
    "patch_apply_end",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "reasoning",
    "token_count",
];

/// The position of a match: in its item, of its item in its turn, and of its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct MatchPosition {
    turn: usize,
    item: usize,
    found: usize,
}

pub(super) async fn occurrences(
    RequestContext { server, .. }: RequestContext,
    params: ThreadSearchOccurrencesParams,
) -> Result<ThreadSearchOccurrencesResponse, Failure> {
    let term = term(&params.search_term, "thread/searchOccurrences")?;
    let invalid = |cursor: &str| Failure::invalid(format!("invalid cursor: {cursor}"));
    let start = match params.cursor.as_deref() {
        None => None,
        Some(cursor) => Some(serde_json::from_str(cursor).map_err(|_| invalid(cursor))?),
    };
    let limit = params.limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE) as usize;
    let source = source_of_turns(&server, &params.thread_id, "thread/searchOccurrences");
    let (path, running) = source.await?;
    let server = Arc::clone(&server);
    blocking(move || {
        let turns = StoredTurns::open(&server, path, running)?;
        Ok(page(matches(&turns, &term, start, limit)?, limit))
    })
    .await
}

/// The matches of a page, and one more if there is a next page.
fn matches(
    turns: &StoredTurns,
    term: &SearchTerm,
    start: Option<MatchPosition>,
    limit: usize,
) -> Result<Vec<(MatchPosition, ThreadSearchOccurrence)>, Failure> {
    let ids = turns.ids();
    let filter = LineFilter::for_term(term);
    let may_match = |line: &ScannedLine<'_>| {
        can_have_message(line)
            && filter
                .as_ref()
                .is_none_or(|filter| filter.may_match(line.bytes()))
    };
    let mut found = Vec::new();
    let mut at = start.map_or(0, |start| start.turn);
    while at < ids.len() && found.len() <= limit {
        let end = (at + CHUNK).min(ids.len());
        for run in runs(&turns.positions_with(at..end, may_match)?) {
            if found.len() > limit {
                break;
            }
            let positions = run.clone();
            for (position, turn) in positions.zip(turns.read(run)?) {
                let cursor = turn_cursor(&ids, position);
                let in_turn = matches_of_turn(&turn, position, term, &cursor);
                found.extend(in_turn.filter(|(position, _)| Some(*position) >= start));
            }
        }
        at = end;
    }
    found.truncate(limit + 1);
    Ok(found)
}

/// Neighbours among ascending positions, as ranges.
fn runs(positions: &[usize]) -> impl Iterator<Item = Range<usize>> + '_ {
    let neighbours = positions.chunk_by(|before, next| before + 1 == *next);
    let runs = neighbours.flat_map(|run| run.chunks(READ_AT_ONCE));
    runs.map(|run| run[0]..run[0] + run.len())
}

/// Whether a line can have a message: outputs of tools and counts have none.
fn can_have_message(line: &ScannedLine<'_>) -> bool {
    let kind = line.start().and_then(|start| start.payload_type);
    !kind.is_some_and(|kind| WITHOUT_MESSAGE.contains(&kind))
}

/// The matches in a message. What the agent says on the way to its answer does not count.
fn occurrences_in(item: &ThreadItem, term: &SearchTerm) -> Option<Vec<TextMatch>> {
    let is_commentary = matches!(
        item,
        ThreadItem::AgentMessage {
            phase: Some(MessagePhase::Commentary),
            ..
        }
    );
    let text = message_of(item).filter(|_| !is_commentary)?;
    Some(match item {
        ThreadItem::UserMessage { .. } => term.matches_as_written(text.trim()),
        _ => term.matches(&text),
    })
}

fn matches_of_turn<'a>(
    turn: &'a Turn,
    at: usize,
    term: &'a SearchTerm,
    cursor: &'a str,
) -> impl Iterator<Item = (MatchPosition, ThreadSearchOccurrence)> + 'a {
    let items = turn.items.iter().enumerate();
    items.flat_map(move |(number, item)| {
        let matches = occurrences_in(item, term);
        let matches = matches.unwrap_or_default().into_iter().enumerate();
        matches.map(move |(index, found)| {
            let position = MatchPosition {
                turn: at,
                item: number,
                found: index,
            };
            let occurrence = ThreadSearchOccurrence {
                item_id: id_of(item).to_owned(),
                snippet: found.snippet,
                snippet_match_range: ThreadSearchTextRange {
                    end: found.range.end,
                    start: found.range.start,
                },
                turn_cursor: cursor.to_owned(),
                turn_id: turn.id.clone(),
            };
            (position, occurrence)
        })
    })
}

fn page(
    found: Vec<(MatchPosition, ThreadSearchOccurrence)>,
    limit: usize,
) -> ThreadSearchOccurrencesResponse {
    let next = found.get(limit);
    let next_cursor = next.and_then(|(position, _)| serde_json::to_string(position).ok());
    let data = found.into_iter().take(limit);
    ThreadSearchOccurrencesResponse {
        data: data.map(|(_, occurrence)| occurrence).collect(),
        next_cursor,
    }
}
