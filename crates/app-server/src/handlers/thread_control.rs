//! What acts on a loaded thread beside its turns.

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    ThreadBackgroundTerminal, ThreadBackgroundTerminalsCleanParams,
    ThreadBackgroundTerminalsCleanResponse, ThreadBackgroundTerminalsListParams,
    ThreadBackgroundTerminalsListResponse, ThreadBackgroundTerminalsTerminateParams,
    ThreadBackgroundTerminalsTerminateResponse, ThreadCompactStartParams,
    ThreadCompactStartResponse, ThreadDecrementElicitationParams,
    ThreadDecrementElicitationResponse, ThreadIncrementElicitationParams,
    ThreadIncrementElicitationResponse, ThreadRollbackParams, ThreadSettingsUpdateParams,
    ThreadShellCommandParams, ThreadShellCommandResponse, ThreadUnsubscribeParams,
    ThreadUnsubscribeResponse, ThreadUnsubscribeStatus,
};
use codex_core::{BackgroundTerminal, Holds};
use codex_protocol::Op;

use super::paging::page;
use super::{engine, loaded_thread, thread_id};
use crate::connection::Responder;
use crate::failure::Failure;
use crate::server::Server;

pub(super) async fn unsubscribe(
    server: &Server,
    params: ThreadUnsubscribeParams,
    reply: Responder<method::ThreadUnsubscribe>,
) {
    let status = match thread_id(&params.thread_id) {
        Err(failure) => return reply.refuse(failure),
        Ok(id) => match server.thread(id.as_str()) {
            Some(thread) => thread.leave(reply.connection().id()).await,
            None => ThreadUnsubscribeStatus::NotLoaded,
        },
    };
    reply.accept(&ThreadUnsubscribeResponse { status });
}

pub(super) async fn roll_back(
    server: &Server,
    params: ThreadRollbackParams,
    reply: Responder<method::ThreadRollback>,
) {
    if params.num_turns == 0 {
        return reply.refuse(Failure::invalid("numTurns must be >= 1"));
    }
    match loaded_thread(server, &params.thread_id) {
        Ok(thread) => thread.roll_back(params.num_turns, reply).await,
        Err(failure) => reply.refuse(failure),
    }
}

pub(super) async fn update_settings(
    server: &Server,
    params: ThreadSettingsUpdateParams,
    reply: Responder<method::ThreadSettingsUpdate>,
) {
    match loaded_thread(server, &params.thread_id) {
        Ok(thread) => thread.update_settings(params, reply).await,
        Err(failure) => reply.refuse(failure),
    }
}

pub(super) async fn compact(
    server: &Server,
    params: ThreadCompactStartParams,
    reply: Responder<method::ThreadCompactStart>,
) {
    let outcome = submit(server, &params.thread_id, Op::Compact).await;
    reply.reply(outcome.map(|()| ThreadCompactStartResponse {}));
}

pub(super) async fn shell_command(
    server: &Server,
    params: ThreadShellCommandParams,
    reply: Responder<method::ThreadShellCommand>,
) {
    let command = params.command.trim().to_owned();
    if command.is_empty() {
        return reply.refuse(Failure::invalid("command must not be empty"));
    }
    let timeout_ms = match params.timeout_ms.map(u64::try_from).transpose() {
        Ok(timeout_ms) => timeout_ms,
        Err(_) => {
            let given = params.timeout_ms.unwrap_or_default();
            let message =
                format!("thread/shellCommand timeoutMs must be non-negative, got {given}");
            return reply.refuse(Failure::over_limit(message));
        }
    };
    let op = Op::RunUserShellCommand {
        command,
        timeout_ms,
    };
    let outcome = submit(server, &params.thread_id, op).await;
    reply.reply(outcome.map(|()| ThreadShellCommandResponse {}));
}

pub(super) async fn clean_terminals(
    server: &Server,
    params: ThreadBackgroundTerminalsCleanParams,
    reply: Responder<method::ThreadBackgroundTerminalsClean>,
) {
    let outcome = submit(server, &params.thread_id, Op::CleanBackgroundTerminals).await;
    reply.reply(outcome.map(|()| ThreadBackgroundTerminalsCleanResponse {}));
}

pub(super) async fn list_terminals(
    server: &Server,
    params: ThreadBackgroundTerminalsListParams,
    reply: Responder<method::ThreadBackgroundTerminalsList>,
) {
    let list = async {
        let engine = engine(server, &params.thread_id).await?;
        let running = engine.background_terminals().await.map_err(closed)?;
        let (page, next_cursor) =
            page(running, params.cursor.as_deref(), params.limit, "terminals")?;
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
    };
    reply.reply(list.await);
}

pub(super) async fn stop_terminal(
    server: &Server,
    params: ThreadBackgroundTerminalsTerminateParams,
    reply: Responder<method::ThreadBackgroundTerminalsTerminate>,
) {
    let stop = async {
        let engine = engine(server, &params.thread_id).await?;
        // What is no number names no terminal.
        let terminated = match params.process_id.parse() {
            Ok(id) => engine.stop_terminal(id).await.map_err(closed)?,
            Err(_) => false,
        };
        Ok(ThreadBackgroundTerminalsTerminateResponse { terminated })
    };
    reply.reply(stop.await);
}

fn closed(error: codex_core::Closed) -> Failure {
    Failure::internal(error.to_string())
}

pub(super) async fn add_hold(
    server: &Server,
    params: ThreadIncrementElicitationParams,
    reply: Responder<method::ThreadIncrementElicitation>,
) {
    let holds = holds(server, &params.thread_id).await;
    reply.reply(holds.map(|holds| ThreadIncrementElicitationResponse {
        count: holds.add(),
        paused: true,
    }));
}

pub(super) async fn take_hold_back(
    server: &Server,
    params: ThreadDecrementElicitationParams,
    reply: Responder<method::ThreadDecrementElicitation>,
) {
    let taken = holds(server, &params.thread_id).await.and_then(|holds| {
        let none = || Failure::invalid("out-of-band elicitation count is already zero");
        holds.take_back().ok_or_else(none)
    });
    reply.reply(taken.map(|count| ThreadDecrementElicitationResponse {
        count,
        paused: count > 0,
    }));
}

async fn holds(server: &Server, thread: &str) -> Result<Holds, Failure> {
    let holds = loaded_thread(server, thread)?.holds().await;
    holds.ok_or_else(|| Failure::invalid(format!("thread not found: {thread}")))
}

async fn submit(server: &Server, thread: &str, op: Op) -> Result<(), Failure> {
    let handle = loaded_thread(server, thread)?;
    match handle.submit(op).await {
        true => Ok(()),
        false => Err(Failure::invalid(format!("thread not found: {thread}"))),
    }
}
