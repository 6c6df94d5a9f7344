//! `send_message` and `followup_task`: tell an agent something, or give it another task.

use codex_model_client::ToolSpec;
use codex_protocol::SubAgentActivityKind;
use codex_session_base::agents::{AgentMail, MailTurn, TeamSeat, parent_path};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::shared::{
    begin, check_message, deliver, emit_activity, message_property, refused, target_property,
};
use crate::arguments::function;
use crate::tool::{Tool, ToolContext, ToolResult, text};

/// How an agent is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageTool {
    /// It reads the message with its next request.
    Send,
    /// It starts a turn, if none runs.
    FollowUp,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageArguments {
    target: String,
    message: String,
}

impl Tool for MessageTool {
    fn spec(&self) -> ToolSpec {
        let (name, description) = match self {
            Self::Send => (
                "send_message",
                "Tells an agent something that it reads with its next step. An idle agent stays idle until \
                 it has a task.",
            ),
            Self::FollowUp => (
                "followup_task",
                "Gives an agent another task. An idle one begins at once and knows what it knew; one at work \
                 takes the task in as it goes.",
            ),
        };
        let message = message_property("What the agent is told.");
        let properties = json!({ "target": target_property(), "message": message });
        function(name, description, properties, &["target", "message"])
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        let tool = *self;
        Box::pin(async move { tool.send(&context).await })
    }
}

impl MessageTool {
    async fn send(self, context: &ToolContext) -> ToolResult {
        let (asked, seat): (MessageArguments, TeamSeat) = begin(context).await?;
        check_message(&asked.message)?;
        let path = seat
            .team
            .resolve(&seat.path, &asked.target)
            .map_err(refused)?;
        let turn = (self == Self::FollowUp).then(|| MailTurn {
            root_turn_id: Some(context.settings.root_turn().to_owned()),
        });
        if turn.is_some() && parent_path(&path).is_none() {
            return Err(refused("Follow-up tasks can't target the root agent"));
        }
        let mail = AgentMail::written(seat.path.clone(), path.clone(), asked.message, turn);
        let thread = deliver(context, &seat, mail).await?;
        emit_activity(context, (thread, path), SubAgentActivityKind::Interacted);
        text("")
    }
}
