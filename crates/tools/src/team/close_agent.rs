//! `close_agent`: ends an agent for good, with those below it.

use codex_model_client::ToolSpec;
use codex_protocol::{SubAgentActivityEvent, SubAgentActivityKind};
use codex_session_base::agents::TeamSeat;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::shared::{activity, begin, emit, refused, target_property};
use crate::arguments::function;
use crate::tool::{Tool, ToolContext, ToolResult, text};

#[derive(Clone, Copy, Debug)]
pub(super) struct CloseTeamAgentTool;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CloseAgentArguments {
    target: String,
}

impl Tool for CloseTeamAgentTool {
    fn spec(&self) -> ToolSpec {
        function(
            "close_agent",
            "Ends an agent and those below it for good, and answers what it was doing.",
            json!({ "target": target_property() }),
            &["target"],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { close(&context).await })
    }
}

async fn close(context: &ToolContext) -> ToolResult {
    let (asked, seat): (CloseAgentArguments, TeamSeat) = begin(context).await?;
    let path = seat
        .team
        .resolve(&seat.path, &asked.target)
        .map_err(refused)?;
    let closing = seat.team.close_member(&seat.path, &path).map_err(refused)?;
    // The thread keeps this event, so the agent stays closed after a restart.
    let about = (closing.id.clone(), path);
    let closed = SubAgentActivityEvent {
        closed: true,
        ..activity(context, about, SubAgentActivityKind::Interrupted)
    };
    emit(context, closed);
    let stored = context.session.emitter.flush().await;
    let previous_status = closing.ended().await;
    if let Err(error) = stored {
        return Err(refused(format!(
            "the agent has ended, but its end was not stored, so it is back after a restart: {error}"
        )));
    }
    text(json!({ "previous_status": previous_status }).to_string())
}
