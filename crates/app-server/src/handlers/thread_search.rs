//! `thread/search`: the threads whose messages contain a text; and `thread/searchOccurrences`: every match in one thread.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    SortDirection, ThreadItem, ThreadSearchOccurrence, ThreadSearchOccurrencesParams,
    ThreadSearchOccurrencesResponse, ThreadSearchParams, ThreadSearchResponse, ThreadSearchResult,
    ThreadSearchSortKey, ThreadSearchTextRange, ThreadStatus, Turn, UserInput,
};
use codex_thread_store::{FoundThread, ListCursor, SearchTerm, SideThreads, SortKey, ThreadQuery};
use serde::{Deserialize, Serialize};

use super::call::RequestContext;
use super::stored::{self, default_provider};
use super::stored_turns::StoredTurns;
use super::thread_list::kinds;
use super::thread_read::source_of_turns;
use super::thread_turns::turn_cursor;
use super::{blocking, state_failed};
use crate::failure::Failure;
use crate::projection::id_of;
use crate::server::AppServer;

/// The default page size.
const PAGE: u32 = 25;
/// The largest page size.
const LARGEST_PAGE: u32 = 100;
/// How many turns are read at once.
const CHUNK: usize = 32;

pub(super) async fn search(
    RequestContext { server, .. }: RequestContext,
    params: ThreadSearchParams,
) -> Result<ThreadSearchResponse, Failure> {
    let term = term(&params.search_term, "thread/search")?;
    let query = query(params)?;
    let page = server.host().store().search(query, term.clone()).await;
    let page = page.map_err(|error| Failure::internal(error.to_string()))?;
    let provider = default_provider(&server);
    let mut data = Vec::with_capacity(page.found.len());
    for one in page.found {
        if let Some(snippet) = current_snippet(&server, &one, &term).await? {
            let id = &one.thread.id;
            let live = match server.thread(id.as_str()) {
                Some(thread) => thread.describe().await,
                None => None,
            };
            let status = live.as_ref().map(|live| live.thread.status.clone());
            let status = status.unwrap_or(ThreadStatus::NotLoaded);
            let mut thread = stored::thread(one.thread, status, &provider);
            if let Some(live) = live {
                stored::add_live(&mut thread, &live.thread);
                // Searches do not have it, as in 0.169.
                thread.thread_source = None;
            }
            data.push(ThreadSearchResult { snippet, thread });
        }
    }
    let state = Arc::clone(server.state());
    blocking(move || {
        for found in &mut data {
            stored::add_state(&state, &mut found.thread).map_err(state_failed)?;
        }
        Ok(ThreadSearchResponse {
            backwards_cursor: page.back.map(|cursor| cursor.to_string()),
            data,
            next_cursor: page.next.map(|cursor| cursor.to_string()),
        })
    })
    .await
}

fn term(text: &str, method: &str) -> Result<SearchTerm, Failure> {
    let missing = || Failure::invalid(format!("{method} requires a non-empty searchTerm"));
    SearchTerm::of(text).ok_or_else(missing)
}

fn query(params: ThreadSearchParams) -> Result<ThreadQuery, Failure> {
    let after = params.cursor.as_deref().map(ListCursor::parse).transpose();
    Ok(ThreadQuery {
        limit: params.limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE) as usize,
        after: after.map_err(|error| Failure::invalid(error.to_string()))?,
        sort: match params.sort_key {
            None | Some(ThreadSearchSortKey::CreatedAt) => SortKey::Created,
            Some(_) => SortKey::Updated,
        },
        is_ascending: params.sort_direction == Some(SortDirection::Asc),
        archived: params.archived.unwrap_or_default(),
        providers: None,
        include_unknown_provider: true,
        kinds: kinds(&params.source_kinds.unwrap_or_default(), false),
        cwds: None,
        ancestor: None,
        attached: if params.include_attached_threads {
            SideThreads::Included
        } else {
            SideThreads::Hidden
        },
        search: None,
        excluded: Vec::new(),
    })
}

/// The text around the first match. Text of turns that were taken back does not count.
async fn current_snippet(
    server: &Arc<AppServer>,
    found: &FoundThread,
    term: &SearchTerm,
) -> Result<Option<String>, Failure> {
    if !found.has_rollbacks {
        return Ok(Some(found.snippet.clone()));
    }
    let (server, path, term) = (Arc::clone(server), found.thread.path.clone(), term.clone());
    blocking(move || {
        let turns = StoredTurns::open(&server, path, None)?;
        let turns = turns.read(0..turns.ids().len())?;
        let items = turns.iter().flat_map(|turn| &turn.items);
        let messages = items.filter_map(|item| message_of(item));
        Ok(messages.filter_map(|text| term.snippet(&text)).next())
    })
    .await
}

/// The text of a message.
fn message_of(item: &ThreadItem) -> Option<String> {
    match item {
        ThreadItem::AgentMessage { text, .. } => Some(text.as_str().into_owned()),
        ThreadItem::UserMessage { content, .. } => {
            let text = |input: &UserInput| match input {
                UserInput::Text { text, .. } => Some(text.clone()),
                _ => None,
            };
            Some(content.iter().filter_map(text).collect())
        }
        _ => None,
    }
}

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
    let source = source_of_turns(&server, &params.thread_id, "thread/searchOccurrences").await?;
    let Some((path, running)) = source else {
        return Ok(page(Vec::new(), limit));
    };
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
    let mut found = Vec::new();
    let mut at = start.map_or(0, |start| start.turn);
    while at < ids.len() && found.len() <= limit {
        let end = (at + CHUNK).min(ids.len());
        for (offset, turn) in turns.read(at..end)?.into_iter().enumerate() {
            let cursor = turn_cursor(&ids, at + offset);
            let in_turn = matches_of_turn(&turn, at + offset, term, &cursor);
            found.extend(in_turn.filter(|(position, _)| Some(*position) >= start));
        }
        at = end;
    }
    found.truncate(limit + 1);
    Ok(found)
}

fn matches_of_turn<'a>(
    turn: &'a Turn,
    at: usize,
    term: &'a SearchTerm,
    cursor: &'a str,
) -> impl Iterator<Item = (MatchPosition, ThreadSearchOccurrence)> + 'a {
    let items = turn.items.iter().enumerate();
    items.flat_map(move |(number, item)| {
        let matches = message_of(item).map(|text| term.matches(&text));
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
