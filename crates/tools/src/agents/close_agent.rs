//! `close_agent`: ends an agent and its own agents.

use codex_model_client::ToolSpec;
use codex_protocol::{AgentStatus, CollabCloseBeginEvent, CollabCloseEndEvent, EventMsg};
use codex_session_base::agents::AgentRequest;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::shared::{EndEvent, find, names_of, not_found, request, status_of, thread_id};
use crate::arguments::{arguments, function};
use crate::tool::{Tool, ToolContext, ToolResult, text};

#[derive(Clone, Copy, Debug)]
pub(crate) struct CloseAgentTool;

#[derive(Deserialize)]
struct CloseAgentArguments {
    target: String,
}

impl Tool for CloseAgentTool {
    fn spec(&self) -> ToolSpec {
        function(
            "close_agent",
            "Ends an agent and those that it started; answers how it was doing. There is room for a few \
             only: close those of no more use.",
            json!({ "target": { "type": "string", "description": "The id of the agent." } }),
            &["target"],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { close(&context).await })
    }
}

async fn close(context: &ToolContext) -> ToolResult {
    let CloseAgentArguments { target } = arguments(context)?;
    let id = thread_id(&target)?;
    let agent = find(context, &id).await?;
    let (receiver_agent_nickname, receiver_agent_role) = names_of(agent.as_ref());
    let mut end = CollabCloseEndEvent {
        call_id: context.call.id.clone(),
        sender_thread_id: context.session.emitter.thread().clone(),
        receiver_thread_id: id.clone(),
        receiver_agent_nickname,
        receiver_agent_role,
        status: AgentStatus::NotFound,
    };
    let begin = EventMsg::CollabCloseBegin(CollabCloseBeginEvent {
        call_id: end.call_id.clone(),
        sender_thread_id: end.sender_thread_id.clone(),
        receiver_thread_id: id.clone(),
    });
    let end_event = EndEvent::begin(context, begin, EventMsg::CollabCloseEnd(end.clone()));
    let taken = request(context, |reply| AgentRequest::Take(id.clone(), reply)).await?;
    let Some(child) = taken else {
        return Err(not_found(&id));
    };
    let status = status_of(agent.as_ref());
    child.close().await;
    end.status = status.clone();
    end_event.end(EventMsg::CollabCloseEnd(end));
    text(json!({ "previous_status": status }).to_string())
}
