//! `turn/interrupt`. The reply comes when the turn has ended.

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{TurnInterruptParams, TurnInterruptResponse};
use codex_protocol::Op;
use futures::FutureExt as _;

use super::call::{EarlyReply, RequestContext};
use super::loaded_thread;
use crate::connection::Responder;
use crate::failure::Failure;
use crate::thread::Actor;

pub(super) async fn interrupt(
    RequestContext { server, .. }: RequestContext,
    params: TurnInterruptParams,
) -> Result<EarlyReply<method::TurnInterrupt>, Failure> {
    let thread = loaded_thread(&server, &params.thread_id)?;
    Ok(EarlyReply::by_thread_in_order(thread, |actor, reply| {
        interrupt_running(actor, params, reply).boxed()
    }))
}

async fn interrupt_running(
    actor: &mut Actor,
    params: TurnInterruptParams,
    reply: Responder<method::TurnInterrupt>,
) {
    // An empty id stands for the running turn.
    let means_running = params.turn_id.is_empty();
    match &actor.turn {
        None if means_running => reply.accept(&TurnInterruptResponse {}),
        None => reply.refuse(Failure::invalid("no active turn to interrupt")),
        Some(active) if !means_running && *active != params.turn_id => {
            let expected = &params.turn_id;
            let message = format!("expected active turn id `{expected}` but found `{active}`");
            reply.refuse(Failure::invalid(message));
        }
        Some(active) => {
            actor.fold.interrupted_by_client(active);
            if actor.thread.submit(Op::Interrupt).await.is_ok() {
                actor.interrupts.push(reply);
            }
        }
    }
}
