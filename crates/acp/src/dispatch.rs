//! The table of methods: what each message of the client leads to.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{CancelNotification, Error};
use codex_json_rpc::{Message, RequestId, Unreadable};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agent::Agent;
use crate::{errors, initialize, listing, login, open, prompt, settings};

/// `$/cancel_request`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelRequest {
    request_id: RequestId,
}

/// Takes a message. What takes time goes on by itself; what has an order is done here.
pub(crate) fn take(agent: &Arc<Agent>, message: Result<Message, Unreadable>) {
    match message {
        Ok(Message::Request { id, method, params }) => request(agent, id, &method, &params),
        Ok(Message::Notification { method, params }) => notification(agent, &method, &params),
        Ok(Message::Reply { id, result }) => agent.peer.take_reply(&id, result),
        Err(unreadable) => agent.peer.refuse(unreadable),
    }
}

fn request(agent: &Arc<Agent>, id: RequestId, method: &str, params: &RawValue) {
    let responder = agent.peer.responder(id);
    if method != "initialize" && !agent.has_shaken_hands() {
        let error = errors::not_now("`initialize` comes first");
        tokio::spawn(responder.respond(Err::<(), _>(error)));
        return;
    }
    match method {
        "initialize" => {
            // What the client offers holds for every message after this one.
            let reply = errors::read(params).map(|request| initialize::answer(agent, &request));
            tokio::spawn(responder.respond(reply));
        }
        "authenticate" => agent.serve_cancellable(params, responder, login::authenticate),
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
        "session/set_config_option" => agent.serve(params, responder, settings::set_option),
        "session/prompt" => prompt::take(agent, params, responder),
        _ => {
            let error = Error::method_not_found().data(serde_json::Value::from(method));
            tokio::spawn(responder.respond(Err::<(), _>(error)));
        }
    }
}

/// One that is not known, or that cannot be read, is ignored.
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
                agent.cancel_request(&cancel.request_id);
            }
        }
        _ => tracing::debug!(method, "a notification that is not known"),
    }
}
