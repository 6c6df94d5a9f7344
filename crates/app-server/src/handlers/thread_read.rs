//! `thread/read` and `thread/loaded/list`: read threads without loading them.

use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    Thread, ThreadLoadedListParams, ThreadLoadedListResponse, ThreadReadParams, ThreadReadResponse,
    ThreadStatus, Turn,
};
use codex_projection::dialect::Dialect;
use codex_projection::{ItemIds, Turns, wire_read_state};
use codex_protocol::ThreadId;

use super::call::{EarlyReply, RequestContext};
use super::stored::{self, live, stored_or_live};
use super::{blocking, load, state_failed, thread_id};
use crate::failure::Failure;
use crate::server::AppServer;
use crate::thread::Snapshot;

/// The `threadSource` of agents.
const AGENT_SOURCE: &str = "subagent";

pub(super) async fn read(
    RequestContext { server, connection }: RequestContext,
    params: ThreadReadParams,
) -> Result<EarlyReply<method::ThreadRead>, Failure> {
    let (mut thread, turns) = thread(&server, &params, connection.dialect()).await?;
    let state = Arc::clone(server.state());
    let (thread, read_state) = blocking(move || {
        stored::add_state(&state, &mut thread).map_err(state_failed)?;
        let is_written = !thread.preview.is_empty() || thread.name.is_some();
        let is_written = is_written && !thread.ephemeral;
        let source = thread.thread_source.as_deref();
        let is_for_user = source.is_none_or(|source| source == "user");
        let has_one = is_written && is_for_user && thread.parent_thread_id.is_none();
        let read_state = has_one.then(|| state.read_state(&thread.id)).transpose();
        let read_state = read_state.map_err(state_failed)?.map(wire_read_state);
        Ok((thread, read_state))
    })
    .await?;
    let response = ThreadReadResponse { thread, read_state };
    Ok(EarlyReply::sent_by(|reply| async move {
        match turns {
            None => reply.accept(&response),
            Some(turns) => reply.accept_with(&response, &turns),
        }
    }))
}

/// The sources of a thread's turns: its file and the running turn.
pub(super) async fn turns_of(
    server: &Arc<AppServer>,
    id: &str,
) -> Result<(PathBuf, Option<Turn>), Failure> {
    let id = thread_id(id)?;
    let (record, live) = stored_or_live(server, &id).await?;
    match record {
        Some(record) => Ok((record.path, completed_so_far(live))),
        None => Err(has_no_turns(&id, live.as_ref(), "thread/turns/list")),
    }
}

/// Like `turns_of`, for methods that know paginated threads with a file alone.
pub(super) async fn source_of_turns(
    server: &Arc<AppServer>,
    id: &str,
    method: &str,
) -> Result<(PathBuf, Option<Turn>), Failure> {
    let id = thread_id(id)?;
    let missing = || Failure::not_implemented(format!("{method} is not supported yet"));
    match stored_or_live(server, &id).await? {
        (Some(record), _) if record.facts.has_legacy_history => Err(missing()),
        (Some(record), live) => Ok((record.path, completed_so_far(live))),
        (None, Some(live)) if live.thread.ephemeral => {
            let message = "ephemeral threads are not stored, so there are no pages of them";
            Err(Failure::not_implemented(message))
        }
        // Also before the first turn.
        (None, _) => Err(missing()),
    }
}

/// The running turn with its complete items. An item that is not complete would not come again behind a cursor.
fn completed_so_far(live: Option<Snapshot>) -> Option<Turn> {
    let mut running = live?.running?.turn;
    running.items.retain(|item| item.completed_at_ms.is_some());
    Some(running)
}

/// The error for a thread without a file, which has no turns. `asked` is what asks for them.
fn has_no_turns(id: &ThreadId, live: Option<&Snapshot>, asked: &str) -> Failure {
    Failure::invalid(match live {
        None => format!("thread not loaded: {id}"),
        Some(live) if live.thread.ephemeral => {
            format!("ephemeral threads do not support {asked}")
        }
        Some(_) => format!(
            "thread {id} is not materialized yet; {asked} is unavailable before first user message"
        ),
    })
}

/// The thread, with its turns if requested.
async fn thread(
    server: &Arc<AppServer>,
    params: &ThreadReadParams,
    dialect: Dialect,
) -> Result<(Thread, Option<Turns>), Failure> {
    let form = dialect.stored_form();
    let id = thread_id(&params.thread_id)?;
    match stored_or_live(server, &id).await? {
        (Some(record), live) => {
            let status = live
                .as_ref()
                .map_or(ThreadStatus::NotLoaded, |live| live.thread.status.clone());
            let path = record.path.clone();
            let mut thread = stored::shown(server, record, status).await?;
            if let Some(live) = &live {
                stored::add_live(&mut thread, &live.thread);
                thread.can_accept_direct_input = live.thread.can_accept_direct_input;
                if let Some(parent) = &live.thread.parent_thread_id {
                    thread.session_id = Some(root_of(server, parent.clone()).await);
                }
                if thread.attached_to_thread_id.is_some() {
                    thread.preview.clone_from(&live.thread.preview);
                }
            }
            if thread.parent_thread_id.is_some() {
                thread.thread_source = Some(AGENT_SOURCE.to_owned());
            }
            if !params.include_turns {
                return Ok((thread, None));
            }
            let running = match form.ids {
                ItemIds::Streamed => completed_so_far(live),
                ItemIds::Numbered | ItemIds::Untimed => live
                    .and_then(|live| live.running)
                    .map(|running| dialect.running_turn(&thread.id, running)),
            };
            let id = running.as_ref().map(|running| running.id.clone());
            let (_, history) = load(server, path, form, id).await?;
            thread.model = history.model.or(thread.model);
            Ok((thread, Some(history.turns.with_running(running))))
        }
        (None, Some(live)) if !params.include_turns => {
            let mut thread = live.thread;
            stored::add_metadata(server, &mut thread).await;
            if thread.ephemeral {
                // Previews and sources are of what is stored.
                thread.preview.clear();
                thread.forked_from_id = None;
            }
            Ok((thread, None))
        }
        (None, Some(live)) if form.ids == ItemIds::Streamed && !live.thread.ephemeral => {
            let message = "the thread has no turns before its first message";
            Err(Failure::not_implemented(message))
        }
        (None, live) => Err(has_no_turns(&id, live.as_ref(), "includeTurns")),
    }
}

/// The root of the agents among which a loaded thread is, seen from one of its parents.
async fn root_of(server: &AppServer, mut thread: String) -> String {
    let parent_of = |live: Snapshot| live.thread.parent_thread_id;
    while let Some(parent) = live(server, &ThreadId(thread.clone()))
        .await
        .and_then(parent_of)
    {
        thread = parent;
    }
    thread
}

pub(super) async fn loaded_list(
    RequestContext { server, .. }: RequestContext,
    params: ThreadLoadedListParams,
) -> Result<ThreadLoadedListResponse, Failure> {
    page(server.thread_ids(), params)
}

fn page(
    ids: Vec<String>,
    params: ThreadLoadedListParams,
) -> Result<ThreadLoadedListResponse, Failure> {
    if let Some(cursor) = &params.cursor
        && !ids.is_empty()
        && thread_id(cursor).is_err()
    {
        return Err(Failure::invalid(format!("invalid cursor: {cursor}")));
    }
    let is_next = |id: &String| params.cursor.as_ref().is_none_or(|cursor| id > cursor);
    let mut data: Vec<_> = ids.into_iter().filter(is_next).collect();
    let limit = params
        .limit
        .map_or(usize::MAX, |limit| limit.max(1) as usize);
    let has_more = data.len() > limit;
    data.truncate(limit);
    let next_cursor = data.last().filter(|_| has_more).cloned();
    Ok(ThreadLoadedListResponse { data, next_cursor })
}
