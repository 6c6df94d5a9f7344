//! `turn/start`, `turn/steer`, `turn/interrupt`.

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    TurnInterruptParams, TurnStartParams, TurnSteerParams, UserInput,
};
use serde_json::json;

use super::loaded_thread;
use crate::connection::Responder;
use crate::failure::Failure;
use crate::server::Server;

/// How many characters a person may say at once.
const TEXT_LIMIT: usize = 1 << 20;

pub(super) async fn start(
    server: &Server,
    params: TurnStartParams,
    reply: Responder<method::TurnStart>,
) {
    let thread = check_size(&params.input)
        .and_then(|()| loaded_thread(server, &params.thread_id))
        .and_then(|thread| check_not_empty(&params.input).map(|()| thread));
    match thread {
        Ok(thread) => thread.start_turn(params, reply).await,
        Err(failure) => reply.refuse(failure),
    }
}

pub(super) async fn steer(
    server: &Server,
    params: TurnSteerParams,
    reply: Responder<method::TurnSteer>,
) {
    let thread = loaded_thread(server, &params.thread_id).and_then(|thread| {
        if params.expected_turn_id.is_empty() {
            return Err(Failure::invalid("expectedTurnId must not be empty"));
        }
        check_size(&params.input)?;
        check_not_empty(&params.input)?;
        Ok(thread)
    });
    match thread {
        Ok(thread) => thread.steer(params, reply).await,
        Err(failure) => reply.refuse(failure),
    }
}

pub(super) async fn interrupt(
    server: &Server,
    params: TurnInterruptParams,
    reply: Responder<method::TurnInterrupt>,
) {
    match loaded_thread(server, &params.thread_id) {
        Ok(thread) => thread.interrupt(params, reply).await,
        Err(failure) => reply.refuse(failure),
    }
}

fn check_not_empty(input: &[UserInput]) -> Result<(), Failure> {
    match input {
        [] => Err(Failure::invalid("input must not be empty")),
        _ => Ok(()),
    }
}

fn check_size(input: &[UserInput]) -> Result<(), Failure> {
    let texts = input.iter().map(|part| match part {
        UserInput::Text { text, .. } => text.chars().count(),
        _ => 0,
    });
    let actual: usize = texts.sum();
    if actual <= TEXT_LIMIT {
        return Ok(());
    }
    let message = format!("Input exceeds the maximum length of {TEXT_LIMIT} characters.");
    Err(Failure::over_limit(message).with_data(json!({
        "input_error_code": "input_too_large",
        "max_chars": TEXT_LIMIT,
        "actual_chars": actual,
    })))
}
