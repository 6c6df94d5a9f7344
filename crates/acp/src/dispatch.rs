//! The table of methods of the client.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{CancelNotification, Error};
use codex_json_rpc::{Incoming, JsonRpcId, Responder};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agent::Agent;
use crate::{errors, initialize, listing, login, open, prompt, rewind, settings, steering};

/// `$/cancel_request`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelRequest {
    request_id: JsonRpcId,
}

/// Dispatches a message. What takes time is spawned; what depends on the order of messages is done here.
pub(crate) fn receive(agent: &Arc<Agent>, incoming: Incoming) {
    let (Incoming::Request { params, .. } | Incoming::Notification { params, .. }) = &incoming;
    agent.note_message(params);
    match incoming {
        Incoming::Request {
            responder,
            method,
            params,
        } => request(agent, responder, &method, &params),
        Incoming::Notification { method, params } => notification(agent, &method, &params),
    }
}

fn request(agent: &Arc<Agent>, responder: Responder, method: &str, params: &RawValue) {
    if method != "initialize" && !agent.is_initialized() {
        let error = errors::not_now("`initialize` comes first");
        tokio::spawn(responder.respond(Err::<(), _>(error)));
        return;
    }
    match method {
        "initialize" => {
            // The capabilities apply to all later messages.
            let reply = errors::read(params).map(|request| initialize::answer(agent, &request));
            tokio::spawn(responder.respond(reply));
        }
        "authenticate" => {
            let cancellation = responder.cancellation();
            agent.serve(params, responder, |agent, request| {
                login::authenticate(agent, request, cancellation)
            });
        }
        "logout" => agent.serve(params, responder, login::log_out),
        "session/new" => open::serve(agent, params, responder, open::new),
        "session/load" => open::serve(agent, params, responder, open::load),
        "session/resume" => open::serve(agent, params, responder, open::resume),
        "session/fork" => open::serve(agent, params, responder, open::fork),
        "session/list" => agent.serve(params, responder, listing::list),
        "session/close" => agent.serve(params, responder, listing::close),
        "session/delete" => agent.serve(params, responder, listing::delete),
        "session/set_title" => agent.serve(params, responder, listing::set_title),
        "session/set_mode" => agent.serve(params, responder, settings::set_mode),
        "session/set_model" => agent.serve(params, responder, settings::set_model),
        "session/set_config_option" => agent.serve(params, responder, settings::set_option),
        rewind::CHECKPOINTS => agent.serve(params, responder, rewind::checkpoints),
        rewind::REWIND => agent.serve(params, responder, rewind::rewind),
        "session/prompt" => prompt::take(agent, params, responder),
        "_session/steering" => agent.serve(params, responder, steering::steer),
        _ => {
            let error = Error::method_not_found().data(serde_json::Value::from(method));
            tokio::spawn(responder.respond(Err::<(), _>(error)));
        }
    }
}

/// Unknown and invalid notifications are ignored.
fn notification(agent: &Arc<Agent>, method: &str, params: &RawValue) {
    match method {
        "session/cancel" => {
            if let Ok(cancel) = errors::read::<CancelNotification>(params)
                && let Some(session) = agent.find(&cancel.session_id.0)
            {
                prompt::cancel(agent, &session);
            }
        }
        "$/cancel_request" => {
            if let Ok(cancel) = errors::read::<CancelRequest>(params) {
                // A prompt or a login. All other requests are short and run to their end.
                agent.peer.cancel(&cancel.request_id);
                prompt::cancel_request(agent, &cancel.request_id);
            }
        }
        _ => tracing::debug!(method, "unknown notification"),
    }
}
