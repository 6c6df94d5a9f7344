//! `send_input`: gives an agent more input.

use codex_model_client::ToolSpec;
use codex_protocol::{
    AgentStatus, CollabAgentInteractionBeginEvent, CollabAgentInteractionEndEvent, EventMsg, Op,
    UserInput, UserInputOp,
};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::shared::{EndEvent, find, names_of, not_found, read_input, shown, status_of, thread_id};
use crate::arguments::{arguments, function};
use crate::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

#[derive(Clone, Copy, Debug)]
pub(crate) struct SendInputTool;

#[derive(Deserialize)]
struct SendInputArguments {
    target: String,
    message: Option<String>,
    items: Option<Vec<UserInput>>,
    #[serde(default)]
    interrupt: bool,
}

impl Tool for SendInputTool {
    fn spec(&self) -> ToolSpec {
        function(
            "send_input",
            "Tells an agent something more. One that is done goes on with it, knowing what it knew; one at \
             work takes it in.",
            json!({
                "target": { "type": "string", "description": "The id of the agent." },
                "message": { "type": "string" },
                "items": {
                    "type": "array",
                    "items": { "type": "object" },
                    "description": "As for spawn_agent.",
                },
                "interrupt": {
                    "type": "boolean",
                    "description": "Whether it drops what it is doing for this.",
                },
            }),
            &["target"],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { send(&context).await })
    }
}

async fn send(context: &ToolContext) -> ToolResult {
    let asked: SendInputArguments = arguments(context)?;
    let id = thread_id(&asked.target)?;
    let input = read_input(asked.message, asked.items)?;
    let agent = find(context, &id).await?;
    let (receiver_agent_nickname, receiver_agent_role) = names_of(agent.as_ref());
    let mut end = CollabAgentInteractionEndEvent {
        call_id: context.call.id.clone(),
        sender_thread_id: context.session.emitter.thread().clone(),
        receiver_thread_id: id.clone(),
        receiver_agent_nickname,
        receiver_agent_role,
        prompt: shown(&input),
        status: AgentStatus::NotFound,
    };
    let begin = EventMsg::CollabAgentInteractionBegin(CollabAgentInteractionBeginEvent {
        call_id: end.call_id.clone(),
        sender_thread_id: end.sender_thread_id.clone(),
        receiver_thread_id: id.clone(),
        prompt: end.prompt.clone(),
    });
    let broken_off = EventMsg::CollabAgentInteractionEnd(end.clone());
    let end_event = EndEvent::begin(context, begin, broken_off);
    let Some(agent) = agent else {
        return Err(not_found(&id));
    };
    end.status = status_of(Some(&agent));
    let closed = |_| ToolFailure::Model(format!("agent with id {id} is closed"));
    if asked.interrupt {
        agent.thread.submit(Op::Interrupt).await.map_err(closed)?;
    }
    let op = Op::UserInput(UserInputOp {
        items: input,
        root_turn_id: Some(context.settings.root_turn().to_owned()),
        ..UserInputOp::default()
    });
    let submission = agent.thread.submit(op).await.map_err(closed)?;
    end_event.end(EventMsg::CollabAgentInteractionEnd(end));
    text(json!({ "submission_id": submission }).to_string())
}
