//! What acts on a loaded thread beside its turns.

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    ThreadBackgroundTerminalsCleanParams, ThreadBackgroundTerminalsCleanResponse,
    ThreadCompactStartParams, ThreadCompactStartResponse, ThreadDecrementElicitationParams,
    ThreadDecrementElicitationResponse, ThreadIncrementElicitationParams,
    ThreadIncrementElicitationResponse, ThreadRollbackParams, ThreadShellCommandParams,
    ThreadShellCommandResponse, ThreadUnsubscribeParams, ThreadUnsubscribeResponse,
    ThreadUnsubscribeStatus,
};
use codex_core::Holds;
use codex_protocol::Op;

use super::{loaded_thread, thread_id};
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
