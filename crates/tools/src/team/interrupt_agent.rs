//! `interrupt_agent`: interrupts the turn of an agent, which can be given other tasks.

use codex_model_client::ToolSpec;
use codex_protocol::SubAgentActivityKind;
use codex_session_base::agents::TeamSeat;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::shared::{begin, emit_activity, refused, target_property};
use crate::arguments::function;
use crate::tool::{Tool, ToolContext, ToolResult, text};

#[derive(Clone, Copy, Debug)]
pub(super) struct InterruptAgentTool;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InterruptAgentArguments {
    target: String,
}

impl Tool for InterruptAgentTool {
    fn spec(&self) -> ToolSpec {
        function(
            "interrupt_agent",
            "Interrupts what an agent is doing, and answers what that was. The agent stays, for other tasks.",
            json!({ "target": target_property() }),
            &["target"],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { interrupt(&context).await })
    }
}

async fn interrupt(context: &ToolContext) -> ToolResult {
    let (asked, seat): (InterruptAgentArguments, TeamSeat) = begin(context).await?;
    let path = seat
        .team
        .resolve(&seat.path, &asked.target)
        .map_err(refused)?;
    if path == seat.path {
        return Err(refused(
            "an agent cannot interrupt itself; end your turn with a final answer instead",
        ));
    }
    let submission = context.session.ids.submission();
    let interrupted = seat.team.interrupt(&path, submission).map_err(refused)?;
    let (thread, status) = interrupted;
    emit_activity(context, (thread, path), SubAgentActivityKind::Interrupted);
    text(json!({ "previous_status": status }).to_string())
}
