//! Asks the client for a permission.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    RequestPermissionRequest, RequestPermissionResponse, SessionUpdate, ToolCall, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use serde_json::Value;

use crate::agent::Agent;
use crate::permission::PermissionChoices;
use crate::session::AcpSession;
use crate::updates::AnnouncedCall;

/// The session for a request. A request of an agent goes to its child session; if the client has none, to the only
/// session, or to one with a running turn.
pub(crate) fn session_of(agent: &Agent, thread: &str) -> Option<Arc<AcpSession>> {
    let child = || agent.children().find(thread);
    let sessions = agent.sessions();
    agent
        .find(thread)
        .or_else(child)
        .or_else(|| match sessions.as_slice() {
            [only] => Some(Arc::clone(only)),
            many => many
                .iter()
                .find(|session| session.state().run.turn().is_some())
                .cloned(),
        })
}

/// Sends a permission request. Without a reply of the client it is refused.
pub(crate) async fn permit(
    agent: &Agent,
    thread: &str,
    call: ToolCall,
    choices: &PermissionChoices,
) -> Option<Value> {
    let session = session_of(agent, thread)?;
    let announced = session.state().projection.announce(call.clone());
    let update = match announced {
        AnnouncedCall::Known(known) => whole(asked_about(known, call)),
        AnnouncedCall::New(call) => {
            let update = SessionUpdate::ToolCall(call.clone());
            agent.update(&session.id, update).await;
            whole(call)
        }
    };
    session.gate.opened().await;
    let request = RequestPermissionRequest::new(session.id.clone(), update, choices.options());
    let invocation = agent
        .peer
        .request("session/request_permission", request)
        .await;
    let reply: Option<RequestPermissionResponse> = invocation.ok();
    Some(choices.answer(reply.as_ref().map(|reply| &reply.outcome)))
}

/// A call that the client knows, as it is asked about: with what the question says, and what else is known.
fn asked_about(known: ToolCall, mut question: ToolCall) -> ToolCall {
    if question.kind != ToolKind::Execute {
        question.title = known.title;
        question.kind = known.kind;
    }
    question.content.extend(known.content);
    question.locations = known.locations;
    question.raw_input = question.raw_input.or(known.raw_input);
    question
}

fn whole(call: ToolCall) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new()
        .title(call.title)
        .kind(call.kind)
        .status(ToolCallStatus::Pending)
        .content(Some(call.content).filter(|content| !content.is_empty()))
        .locations(Some(call.locations).filter(|locations| !locations.is_empty()))
        .raw_input(call.raw_input);
    ToolCallUpdate::new(call.tool_call_id, fields)
}
