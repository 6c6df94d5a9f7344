//! Requests about a loaded thread, apart from its turns.

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    ThreadBackgroundTerminal, ThreadBackgroundTerminalsCleanParams,
    ThreadBackgroundTerminalsCleanResponse, ThreadBackgroundTerminalsListParams,
    ThreadBackgroundTerminalsListResponse, ThreadBackgroundTerminalsTerminateParams,
    ThreadBackgroundTerminalsTerminateResponse, ThreadCompactStartParams,
    ThreadCompactStartResponse, ThreadDecrementElicitationParams,
    ThreadDecrementElicitationResponse, ThreadIncrementElicitationParams,
    ThreadIncrementElicitationResponse, ThreadRollbackParams, ThreadShellCommandParams,
    ThreadShellCommandResponse, ThreadUnsubscribeParams, ThreadUnsubscribeResponse,
    ThreadUnsubscribeStatus,
};
use codex_core::{BackgroundTerminal, ListTerminals, StopTerminal};
use codex_protocol::Op;
use futures::FutureExt as _;

use super::call::{EarlyReply, RequestContext};
use super::paging::page;
use super::{engine, input_thread, loaded_thread, store_loaded, thread_id};
use crate::failure::Failure;
use crate::server::AppServer;

pub(super) async fn unsubscribe(
    RequestContext { server, connection }: RequestContext,
    params: ThreadUnsubscribeParams,
) -> Result<ThreadUnsubscribeResponse, Failure> {
    let id = thread_id(&params.thread_id)?;
    let left = match server.thread(id.as_str()) {
        Some(thread) => thread
            .call_now(move |it| it.leave(connection.id()))
            .await
            .ok(),
        None => None,
    };
    let status = left.unwrap_or(ThreadUnsubscribeStatus::NotLoaded);
    Ok(ThreadUnsubscribeResponse { status })
}

pub(super) async fn roll_back(
    RequestContext { server, .. }: RequestContext,
    params: ThreadRollbackParams,
) -> Result<EarlyReply<method::ThreadRollback>, Failure> {
    if params.num_turns == 0 {
        return Err(Failure::invalid("numTurns must be >= 1"));
    }
    let thread = loaded_thread(&server, &params.thread_id)?;
    Ok(EarlyReply::by_thread_in_order(
        thread,
        move |thread, reply| thread.roll_back(params.num_turns, reply).boxed(),
    ))
}

pub(super) async fn compact(
    RequestContext { server, connection }: RequestContext,
    params: ThreadCompactStartParams,
) -> Result<ThreadCompactStartResponse, Failure> {
    input_thread(&server, &params.thread_id)?;
    store_loaded(&server, &connection, &params.thread_id).await?;
    let outcome = submit(&server, &params.thread_id, Op::Compact).await;
    outcome.map(|()| ThreadCompactStartResponse {})
}

pub(super) async fn shell_command(
    RequestContext { server, .. }: RequestContext,
    params: ThreadShellCommandParams,
) -> Result<ThreadShellCommandResponse, Failure> {
    let command = params.command.trim().to_owned();
    if command.is_empty() {
        return Err(Failure::invalid("command must not be empty"));
    }
    let timeout_ms = match params.timeout_ms.map(u64::try_from).transpose() {
        Ok(timeout_ms) => timeout_ms,
        Err(_) => {
            let given = params.timeout_ms.unwrap_or_default();
            let message =
                format!("thread/shellCommand timeoutMs must be non-negative, got {given}");
            return Err(Failure::invalid_params(message));
        }
    };
    let op = Op::RunUserShellCommand {
        command,
        timeout_ms,
    };
    input_thread(&server, &params.thread_id)?;
    let outcome = submit(&server, &params.thread_id, op).await;
    outcome.map(|()| ThreadShellCommandResponse {})
}

pub(super) async fn clean_terminals(
    RequestContext { server, .. }: RequestContext,
    params: ThreadBackgroundTerminalsCleanParams,
) -> Result<ThreadBackgroundTerminalsCleanResponse, Failure> {
    let outcome = submit(&server, &params.thread_id, Op::CleanBackgroundTerminals).await;
    outcome.map(|()| ThreadBackgroundTerminalsCleanResponse {})
}

pub(super) async fn list_terminals(
    RequestContext { server, .. }: RequestContext,
    params: ThreadBackgroundTerminalsListParams,
) -> Result<ThreadBackgroundTerminalsListResponse, Failure> {
    let engine = engine(&server, &params.thread_id).await?;
    let running = engine.call(ListTerminals).await?;
    let (page, next_cursor) = page(running, params.cursor.as_deref(), params.limit, "terminals")?;
    let terminal = |one: BackgroundTerminal| ThreadBackgroundTerminal {
        item_id: one.item_id,
        process_id: one.id.to_string(),
        command: one.script,
        cwd: one.cwd.display().to_string(),
    };
    Ok(ThreadBackgroundTerminalsListResponse {
        data: page.into_iter().map(terminal).collect(),
        next_cursor,
    })
}

pub(super) async fn stop_terminal(
    RequestContext { server, .. }: RequestContext,
    params: ThreadBackgroundTerminalsTerminateParams,
) -> Result<ThreadBackgroundTerminalsTerminateResponse, Failure> {
    let engine = engine(&server, &params.thread_id).await?;
    let id = params.process_id.parse().map_err(|error| {
        let message = format!("invalid background terminal process id: {error}");
        Failure::invalid(message)
    })?;
    let stopped = engine.ask(|reply| StopTerminal { id, reply });
    let terminated = stopped.await?;
    Ok(ThreadBackgroundTerminalsTerminateResponse { terminated })
}

pub(super) async fn add_hold(
    RequestContext { server, .. }: RequestContext,
    params: ThreadIncrementElicitationParams,
) -> Result<ThreadIncrementElicitationResponse, Failure> {
    let engine = engine(&server, &params.thread_id).await?;
    let count = engine.timeout_pauses().add();
    Ok(ThreadIncrementElicitationResponse {
        count,
        paused: true,
    })
}

pub(super) async fn take_hold_back(
    RequestContext { server, .. }: RequestContext,
    params: ThreadDecrementElicitationParams,
) -> Result<ThreadDecrementElicitationResponse, Failure> {
    let engine = engine(&server, &params.thread_id).await?;
    let none = || Failure::invalid("out-of-band elicitation count is already zero");
    let count = engine.timeout_pauses().take_back().ok_or_else(none)?;
    Ok(ThreadDecrementElicitationResponse {
        count,
        paused: count > 0,
    })
}

async fn submit(server: &AppServer, thread: &str, op: Op) -> Result<(), Failure> {
    let submitted = engine(server, thread).await?.submit(op).await;
    let missing = |_| Failure::invalid(format!("thread not found: {thread}"));
    submitted.map(drop).map_err(missing)
}
