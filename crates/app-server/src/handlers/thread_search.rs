//! `thread/search` and `thread/search/stream`: the threads whose messages contain a text.

use std::sync::Arc;

use codex_app_server_protocol::rpc::RequestId;
use codex_app_server_protocol::v2::{
    SortDirection, ThreadItem, ThreadSearchCancelParams, ThreadSearchCancelResponse,
    ThreadSearchParams, ThreadSearchPartialNotification, ThreadSearchResponse, ThreadSearchResult,
    ThreadSearchSortKey, ThreadStatus, UserInput,
};
use codex_app_server_protocol::{ClientRequest, ServerNotification, client_method as method};
use codex_thread_store::{
    FoundThread, ListCursor, SearchPage, SearchTerm, SearchWatcher, SideThreads, SortKey,
    StoreError, ThreadQuery,
};
use tokio_util::sync::CancellationToken;

use super::call::{EarlyReply, RequestContext};
use super::stored::{self, default_provider};
use super::stored_turns::StoredTurns;
use super::thread_list::kinds;
use super::{blocking, state_failed};
use crate::background_notifier::NotificationSink;
use crate::cancellable::CancellableRequest;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::server::AppServer;

/// The default page size.
pub(super) const PAGE: u32 = 25;
/// The largest page size.
pub(super) const LARGEST_PAGE: u32 = 100;

/// The most bytes of the term of `thread/search/stream`.
const LONGEST_TERM: usize = 65_536;

pub(super) async fn search(
    RequestContext { server, connection }: RequestContext,
    params: ThreadSearchParams,
) -> Result<EarlyReply<method::ThreadSearch>, Failure> {
    let term = term(&params.search_term, "thread/search")?;
    let query = query(params)?;
    Ok(EarlyReply::sent_by(move |reply| async move {
        let searches = connection.thread_searches();
        let cancel = reply.id().and_then(|id| searches.token(id));
        let found = async {
            let page = server.host().store().search(query, term.clone()).await;
            response(&server, page, &term).await
        };
        reply.reply(unless_cancelled(cancel.as_ref(), found).await);
    }))
}

/// The same, with a notification for each thread as it is found. None comes after the reply.
pub(super) async fn stream(
    RequestContext { server, connection }: RequestContext,
    params: ThreadSearchParams,
) -> Result<EarlyReply<method::ThreadSearchStream>, Failure> {
    if params.search_term.len() > LONGEST_TERM {
        return Err(Failure::invalid_params(format!(
            "thread/search/stream searchTerm exceeds {LONGEST_TERM} UTF-8 bytes"
        )));
    }
    let term = term(&params.search_term, "thread/search/stream")?;
    let query = query(params)?;
    Ok(EarlyReply::sent_by(move |reply| async move {
        let streams = connection.thread_search_streams();
        let cancel = reply.id().and_then(|id| streams.token(id));
        let id = reply.id().cloned();
        let found = async {
            // Dropped with this future, which ends the search.
            let (watcher, mut found) = SearchWatcher::new();
            let store = server.host().store();
            let searched = store.search_watched(query, term.clone(), watcher);
            let mut searched = std::pin::pin!(searched);
            let page = loop {
                tokio::select! {
                    biased;
                    Some(one) = found.recv() => {
                        if let Some(id) = &id {
                            show_found(&server, &connection, id, one, &term).await?;
                        }
                    }
                    page = &mut searched => break page,
                }
            };
            while let (Some(id), Ok(one)) = (&id, found.try_recv()) {
                show_found(&server, &connection, id, one, &term).await?;
            }
            response(&server, page, &term).await
        };
        reply.reply(unless_cancelled(cancel.as_ref(), found).await);
    }))
}

pub(super) async fn cancel(
    RequestContext { connection, .. }: RequestContext,
    params: ThreadSearchCancelParams,
) -> Result<ThreadSearchCancelResponse, Failure> {
    connection.thread_searches().cancel(&params.request_id);
    Ok(ThreadSearchCancelResponse {})
}

pub(super) async fn cancel_stream(
    RequestContext { connection, .. }: RequestContext,
    params: ThreadSearchCancelParams,
) -> Result<ThreadSearchCancelResponse, Failure> {
    connection
        .thread_search_streams()
        .cancel(&params.request_id);
    Ok(ThreadSearchCancelResponse {})
}

/// Registers a search when it comes, so that it can be given up before it has begun.
pub(crate) fn register(
    request: &ClientRequest,
    connection: &Connection,
    id: &RequestId,
) -> Option<CancellableRequest> {
    match request {
        ClientRequest::ThreadSearch(_) => Some(connection.thread_searches().register(id)),
        ClientRequest::ThreadSearchStream(_) => {
            Some(connection.thread_search_streams().register(id))
        }
        _ => None,
    }
}

async fn unless_cancelled(
    cancel: Option<&CancellationToken>,
    found: impl Future<Output = Result<ThreadSearchResponse, Failure>>,
) -> Result<ThreadSearchResponse, Failure> {
    let found = match cancel {
        Some(cancel) => cancel.run_until_cancelled(found).await,
        None => Some(found.await),
    };
    found.unwrap_or_else(|| Err(Failure::invalid("thread search cancelled")))
}

/// Tells a client of a thread that was found, as it is stored.
async fn show_found(
    server: &Arc<AppServer>,
    connection: &Connection,
    search: &RequestId,
    found: FoundThread,
    term: &SearchTerm,
) -> Result<(), Failure> {
    if let Some(snippet) = current_snippet(server, &found, term).await? {
        let provider = default_provider(server);
        let mut thread = stored::thread(found.thread, ThreadStatus::NotLoaded, &provider);
        thread.forked_from_id = None;
        let partial = ThreadSearchPartialNotification {
            request_id: search.clone(),
            data: vec![ThreadSearchResult { snippet, thread }],
        };
        connection.notify(&ServerNotification::ThreadSearchPartial(partial));
    }
    Ok(())
}

async fn response(
    server: &Arc<AppServer>,
    page: Result<SearchPage, StoreError>,
    term: &SearchTerm,
) -> Result<ThreadSearchResponse, Failure> {
    let page = page.map_err(|error| Failure::internal(error.to_string()))?;
    let provider = default_provider(server);
    let mut data = Vec::with_capacity(page.found.len());
    for one in page.found {
        if let Some(snippet) = current_snippet(server, &one, term).await? {
            let id = &one.thread.id;
            let live = stored::live(server, id).await;
            let status = live.as_ref().map(|live| live.thread.status.clone());
            let status = status.unwrap_or(ThreadStatus::NotLoaded);
            let mut thread = stored::thread(one.thread, status, &provider);
            // As in lists.
            thread.forked_from_id = None;
            if let Some(live) = live {
                stored::add_live(&mut thread, &live.thread);
                // Searches do not have it.
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
    SearchTerm::parse(text).ok_or_else(missing)
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
