//! `thread/read` and `thread/loaded/list`: looking at threads without touching them.

use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    Thread, ThreadLoadedListParams, ThreadLoadedListResponse, ThreadReadParams, ThreadReadResponse,
    ThreadStatus, Turn,
};

use super::{load, stored, thread_id};
use crate::connection::Responder;
use crate::failure::Failure;
use crate::server::Server;
use crate::thread::turns_of;

pub(super) async fn read(
    server: &Arc<Server>,
    params: ThreadReadParams,
    reply: Responder<method::ThreadRead>,
) {
    let outcome = thread(server, &params).await;
    reply.reply(outcome.map(|thread| ThreadReadResponse { thread }));
}

/// The turns of a thread, loaded or stored.
pub(super) async fn turns(server: &Arc<Server>, thread_id: String) -> Result<Vec<Turn>, Failure> {
    let params = ThreadReadParams {
        thread_id,
        include_turns: true,
    };
    let read = thread(server, &params).await;
    read.map(|thread| thread.turns)
}

async fn thread(server: &Arc<Server>, params: &ThreadReadParams) -> Result<Thread, Failure> {
    let id = thread_id(&params.thread_id)?;
    let live = match server.thread(id.as_str()) {
        Some(thread) => thread.describe().await,
        None => None,
    };
    match (stored::record(server, &id).await?, live) {
        (Some(record), live) => {
            let status = live
                .as_ref()
                .map_or(ThreadStatus::NotLoaded, |live| live.thread.status.clone());
            let path = record.path.clone();
            let mut thread = stored::shown(server, record, status).await?;
            if params.include_turns {
                let (_, history) = load(path).await?;
                thread.model = history.model;
                thread.turns = turns_of(history.turns, live.and_then(|live| live.running));
            }
            Ok(thread)
        }
        (None, Some(live)) if !params.include_turns => {
            let mut thread = live.thread;
            stored::add_said(server, &mut thread).await;
            Ok(thread)
        }
        (None, Some(live)) if live.thread.ephemeral => Err(Failure::invalid(
            "ephemeral threads do not support includeTurns",
        )),
        (None, Some(_)) => Err(Failure::invalid(format!(
            "thread {id} is not materialized yet; includeTurns is unavailable before first user message"
        ))),
        (None, None) => Err(Failure::invalid(format!("thread not loaded: {id}"))),
    }
}

pub(super) fn loaded_list(
    server: &Server,
    params: ThreadLoadedListParams,
    reply: Responder<method::ThreadLoadedList>,
) {
    reply.reply(page(server.thread_ids(), params));
}

fn page(
    ids: Vec<String>,
    params: ThreadLoadedListParams,
) -> Result<ThreadLoadedListResponse, Failure> {
    if let Some(cursor) = &params.cursor
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
