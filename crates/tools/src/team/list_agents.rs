//! `list_agents`: lists the agents of the team.

use codex_model_client::ToolSpec;
use codex_session_base::agents::{TeamSeat, resolve_path};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::shared::{begin, refused};
use crate::arguments::function;
use crate::tool::{Tool, ToolContext, ToolResult, text};

#[derive(Clone, Copy, Debug)]
pub(super) struct ListAgentsTool;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListAgentsArguments {
    path_prefix: Option<String>,
}

impl Tool for ListAgentsTool {
    fn spec(&self) -> ToolSpec {
        function(
            "list_agents",
            "Lists the agents of your team, and what each of them is doing.",
            json!({
                "path_prefix": {
                    "type": "string",
                    "description": "Only the agent with this path and those below it. No slash at the end.",
                },
            }),
            &[],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { list(&context).await })
    }
}

async fn list(context: &ToolContext) -> ToolResult {
    let (asked, seat): (ListAgentsArguments, TeamSeat) = begin(context).await?;
    let prefix = asked.path_prefix.as_deref().unwrap_or("/root");
    let top = resolve_path(&seat.path, prefix).map_err(refused)?;
    text(json!({ "agents": seat.team.list(&top) }).to_string())
}
