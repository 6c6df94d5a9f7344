//! `thread/search`: the threads whose messages contain a text.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    SortDirection, ThreadItem, ThreadSearchParams, ThreadSearchResponse, ThreadSearchResult,
    ThreadSearchSortKey, ThreadStatus, UserInput,
};
use codex_thread_store::{FoundThread, ListCursor, SearchTerm, SideThreads, SortKey, ThreadQuery};

use super::call::RequestContext;
use super::stored::{self, default_provider};
use super::stored_turns::StoredTurns;
use super::thread_list::kinds;
use super::{blocking, state_failed};
use crate::failure::Failure;
use crate::server::AppServer;

/// The default page size.
pub(super) const PAGE: u32 = 25;
/// The largest page size.
pub(super) const LARGEST_PAGE: u32 = 100;

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
            // As in lists.
            thread.forked_from_id = None;
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
            backwards_cursor: page
                .back
                .filter(|_| !data.is_empty())
                .map(|cursor| cursor.to_string()),
            data,
            next_cursor: page.next.map(|cursor| cursor.to_string()),
        })
    })
    .await
}

pub(super) fn term(text: &str, method: &str) -> Result<SearchTerm, Failure> {
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
        included: None,
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
pub(super) fn message_of(item: &ThreadItem) -> Option<String> {
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
