//! `turn/start`, `turn/continue`, `turn/steer`, `turn/interrupt`, `turn/settings/update`.

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    TurnContinueParams, TurnInterruptParams, TurnSettingsUpdateParams, TurnSettingsUpdateResponse,
    TurnSettingsUpdateStatus, TurnStartParams, TurnSteerParams, TurnToolOutput, UserInput,
};
use codex_core::{TurnPlace, TurnSettingsPatch};
use codex_protocol::{FunctionCallOutputBody, FunctionCallOutputContentItem};
use serde_json::json;

use super::call::{EarlyReply, RequestContext};
use super::{engine, input_thread, loaded_thread};
use crate::failure::Failure;
use crate::thread::{RequestedPlace, check_environments};
use codex_projection::engine_reviewer;

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
    Ok(EarlyReply::by(|reply| async move {
        thread.start_turn(params, first, reply).await;
    }))
}

pub(super) async fn continue_turn(
    RequestContext { server, .. }: RequestContext,
    params: TurnContinueParams,
) -> Result<EarlyReply<method::TurnContinue>, Failure> {
    let thread = input_thread(&server, &params.thread_id)?;
    Ok(EarlyReply::by(|reply| async move {
        thread.continue_turn(params.turn_id, reply).await;
    }))
}

pub(super) async fn steer(
    RequestContext { server, .. }: RequestContext,
    params: TurnSteerParams,
) -> Result<EarlyReply<method::TurnSteer>, Failure> {
    let thread = input_thread(&server, &params.thread_id)?;
    if params.expected_turn_id.is_empty() {
        return Err(Failure::invalid("expectedTurnId must not be empty"));
    }
    check_input(&params.input)?;
    check_not_empty(&params.input)?;
    Ok(EarlyReply::by(|reply| async move {
        thread.steer(params, reply).await;
    }))
}

pub(super) async fn interrupt(
    RequestContext { server, .. }: RequestContext,
    params: TurnInterruptParams,
) -> Result<EarlyReply<method::TurnInterrupt>, Failure> {
    let thread = loaded_thread(&server, &params.thread_id)?;
    Ok(EarlyReply::in_order(|reply| async move {
        thread.interrupt(params, reply).await;
    }))
}

pub(super) async fn update_settings(
    RequestContext { server, .. }: RequestContext,
    params: TurnSettingsUpdateParams,
) -> Result<TurnSettingsUpdateResponse, Failure> {
    let thread = engine(&server, &params.thread_id).await?;
    let environments = params.environments;
    check_environments(
        server.host().environments(),
        environments.as_deref().unwrap_or_default(),
    )?;
    let configuration = server.host().configuration();
    let patch = TurnSettingsPatch {
        turn: params.turn_id,
        model: params.model,
        effort: params.effort,
        summary: params.summary,
        service_tier: params.service_tier,
        approvals_reviewer: params.approvals_reviewer.map(engine_reviewer),
        environment: environments.map(|all| {
            let has_any = !all.is_empty();
            let place = RequestedPlace {
                environments: Some(all),
                ..RequestedPlace::default()
            };
            let folder = place.environment_folder();
            has_any.then(|| TurnPlace {
                cwd: folder.map(|folder| configuration.folder(folder)),
                environments: place.choices().unwrap_or_default(),
            })
        }),
    };
    let applies = thread.change_turn(patch).await;
    let applies = applies.map_err(|error| Failure::invalid(error.to_string()))?;
    let status = if applies {
        TurnSettingsUpdateStatus::Applied
    } else {
        TurnSettingsUpdateStatus::TargetUnavailable
    };
    Ok(TurnSettingsUpdateResponse { status })
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

fn check_not_empty(input: &[UserInput]) -> Result<(), Failure> {
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
    Err(Failure::over_limit(message).with_data(json!({
        "input_error_code": "input_too_large",
        "max_chars": TEXT_LIMIT,
        "actual_chars": actual,
    })))
}
