//! `turn/steer`: adds input to the running turn.

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{TurnSteerParams, TurnSteerResponse};
use codex_core::{Steer, SteerError, TaskKind, TurnInput};
use codex_projection::{engine_input, turn_error};
use codex_protocol::{CodexErrorInfo, NonSteerableTurnKind};
use futures::FutureExt as _;
use serde_json::json;

use super::call::{EarlyReply, RequestContext};
use super::input_thread;
use super::turn_start::{check_input, check_not_empty};
use crate::failure::Failure;
use crate::thread::Actor;

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
    Ok(EarlyReply::of_thread(thread, |actor| {
        add_input(actor, params).boxed()
    }))
}

async fn add_input(
    actor: &mut Actor,
    params: TurnSteerParams,
) -> Result<TurnSteerResponse, Failure> {
    let input = TurnInput {
        items: params.input.into_iter().map(engine_input).collect(),
        client_id: params.client_user_message_id,
        ..TurnInput::default()
    };
    let expected = Some(params.expected_turn_id);
    let steered = actor.thread.call(Steer { expected, input }).await;
    let turn_id = steered.map_err(|error| match error {
        SteerError::Closed(_) => Failure::internal(error.to_string()),
        SteerError::NotSteerable(kind) => not_steerable(&error, kind),
        _ => Failure::invalid(error.to_string()),
    })?;
    Ok(TurnSteerResponse { turn_id })
}

/// The data tells clients which kind of turn it is.
fn not_steerable(error: &SteerError, kind: TaskKind) -> Failure {
    let turn_kind = match kind {
        TaskKind::Review => NonSteerableTurnKind::Review,
        TaskKind::Compact => NonSteerableTurnKind::Compact,
        TaskKind::Regular | TaskKind::UserShell | TaskKind::Undo => {
            return Failure::invalid(error.to_string());
        }
    };
    let info = CodexErrorInfo::ActiveTurnNotSteerable { turn_kind };
    let data = turn_error(&error.to_string(), Some(&info), None);
    Failure::invalid(error.to_string()).with_data(json!(data))
}
