//! `turn/continue`: continues a turn that had not ended when its server did.

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{TurnContinueParams, TurnContinueResponse};
use futures::FutureExt as _;

use super::call::{EarlyReply, RequestContext};
use super::input_thread;
use crate::failure::Failure;
use crate::thread::{Actor, accepted_turn};

pub(super) async fn continue_turn(
    RequestContext { server, .. }: RequestContext,
    params: TurnContinueParams,
) -> Result<EarlyReply<method::TurnContinue>, Failure> {
    let thread = input_thread(&server, &params.thread_id)?;
    Ok(EarlyReply::of_thread(thread, |actor| {
        continue_unfinished(actor, params.turn_id).boxed()
    }))
}

async fn continue_unfinished(
    actor: &mut Actor,
    turn: String,
) -> Result<TurnContinueResponse, Failure> {
    actor.continue_unfinished(&turn).await?;
    actor.started_by_client();
    let turn = accepted_turn(turn, None);
    Ok(TurnContinueResponse { turn })
}
