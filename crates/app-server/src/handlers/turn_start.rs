//! `turn/start`, and what the input of a turn may be.

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    TurnStartParams, TurnStartResponse, TurnToolOutput, UserInput,
};
use codex_projection::with_instructions;
use codex_protocol::{FunctionCallOutputBody, FunctionCallOutputContentItem, ThreadSettings};
use futures::FutureExt as _;
use serde_json::json;

use super::call::{EarlyReply, RequestContext};
use super::input_thread;
use crate::connection::Responder;
use crate::failure::Failure;
use crate::first_turns::FirstTurn;
use crate::thread::{Actor, accepted_turn};

/// The longest input text, in characters.
const TEXT_LIMIT: usize = 1 << 20;

pub(super) async fn start(
    RequestContext { server, connection }: RequestContext,
    params: TurnStartParams,
) -> Result<EarlyReply<method::TurnStart>, Failure> {
    check_input(&params.input)?;
    let thread = input_thread(&server, &params.thread_id)?;
    match &params.tool_output {
        Some(output) => check_tool_output(output, &params.input)?,
        // The model is asked as things stand.
        None if connection.dialect().takes_empty_turns() => {}
        None => check_not_empty(&params.input)?,
    }
    let first = server.first_turns().begin();
    Ok(EarlyReply::by_thread(thread, |actor, reply| {
        start_turn(actor, params, first, reply).boxed()
    }))
}

async fn start_turn(
    actor: &mut Actor,
    params: TurnStartParams,
    first: FirstTurn,
    reply: Responder<method::TurnStart>,
) {
    let before = actor.thread.settings();
    let shown_before = actor.shown_settings();
    let root = params.root_turn_id.clone();
    let dialect = reply.connection().dialect();
    let id = uuid::Uuid::now_v7().to_string();
    let id = match actor.begin_turn(id, params, false).await {
        Ok(id) => id,
        Err(failure) => return reply.refuse(failure),
    };
    actor.started_by_client();
    if actor.facts.preview.is_empty() && actor.facts.path.is_some() {
        actor.first_turn = Some(first.limited());
    }
    reply.accept(&TurnStartResponse {
        turn: accepted_turn(id, root),
    });
    // Some clients set the mode with a turn and get no notification about it.
    let after = actor.thread.settings();
    let in_old_mode = ThreadSettings {
        mode: before.mode,
        mode_instructions: before.mode_instructions.clone(),
        ..(*after).clone()
    };
    let shown = actor.shown_settings();
    let is_changed = if dialect.tells_changes_of_mode() {
        shown != shown_before
    } else {
        in_old_mode != *before
    };
    if is_changed {
        actor.notify_settings(with_instructions(shown, before.mode));
    }
    if dialect.keeps_settings() && after != before {
        actor.store_settings(&after).await;
    }
}

fn check_tool_output(output: &TurnToolOutput, input: &[UserInput]) -> Result<(), Failure> {
    if !input.is_empty() {
        let message = "`toolOutput` cannot be combined with nonempty `input`";
        return Err(Failure::invalid(message));
    }
    if output.name.trim().is_empty() {
        return Err(Failure::invalid(
            "the tool of `toolOutput` must have a name",
        ));
    }
    check_characters(match &output.output {
        FunctionCallOutputBody::Text(text) => text.as_str().chars().count(),
        FunctionCallOutputBody::Content(parts) => {
            let characters = parts.iter().map(|part| match part {
                FunctionCallOutputContentItem::InputText { text } => text.chars().count(),
                _ => 0,
            });
            characters.sum()
        }
    })
}

pub(super) fn check_not_empty(input: &[UserInput]) -> Result<(), Failure> {
    match input {
        [] => Err(Failure::invalid("input must not be empty")),
        _ => Ok(()),
    }
}

/// Refuses images without a place, and what is too long.
pub(super) fn check_input(input: &[UserInput]) -> Result<(), Failure> {
    let is_nowhere = |part: &UserInput| match part {
        UserInput::Image { url, file_id, .. } => {
            url.is_empty() && file_id.as_ref().is_none_or(String::is_empty)
        }
        _ => false,
    };
    if let Some(at) = input.iter().position(is_nowhere) {
        let message = format!("Invalid request: input[{at}]: an image needs a `url` or a `fileId`");
        return Err(Failure::invalid(message));
    }
    let texts = input.iter().map(|part| match part {
        UserInput::Text { text, .. } => text.chars().count(),
        _ => 0,
    });
    check_characters(texts.sum())
}

fn check_characters(actual: usize) -> Result<(), Failure> {
    if actual <= TEXT_LIMIT {
        return Ok(());
    }
    let message = format!("Input exceeds the maximum length of {TEXT_LIMIT} characters.");
    Err(Failure::invalid_params(message).with_data(json!({
        "input_error_code": "input_too_large",
        "max_chars": TEXT_LIMIT,
        "actual_chars": actual,
    })))
}
