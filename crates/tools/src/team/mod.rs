//! The tools for agents that have paths.

mod close_agent;
mod interrupt_agent;
mod list_agents;
mod messages;
mod shared;
mod spawn_agent;
mod wait_agent;

use std::sync::Arc;

use codex_model_client::{ModelInfo, ToolMode, ToolSpec};
use codex_session_base::config::{AgentSettings, TeamSettings};

use super::offer::{RegisteredTool, ToolSetBuilder, ToolSituation};
use super::tool::Tool;
use close_agent::CloseTeamAgentTool;
use interrupt_agent::InterruptAgentTool;
use list_agents::ListAgentsTool;
use messages::MessageTool;
use spawn_agent::SpawnTeamAgentTool;
use wait_agent::WaitForMailTool;

/// The namespace in which some models call the tools.
const NAMESPACE: &str = "collaboration";

/// Offers all of them, in their namespace if they have one. Scripts may be kept from calling them. Models that were trained
/// with a namespace may call them in it.
pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    let Some(agents) = &situation.options().agents else {
        return;
    };
    let Some(team) = &agents.team else {
        return;
    };
    let mut specs = Vec::new();
    for tool in tools(agents, team, &situation.services.model.choices()) {
        let spec = tool.spec();
        let name = match &team.tool_namespace {
            Some(namespace) => format!("{namespace}:{}", spec.name()),
            None => spec.name().to_owned(),
        };
        let in_namespace = format!("{NAMESPACE}:{}", spec.name());
        for (name, offered) in [(in_namespace, false), (name, true)] {
            let tool = Arc::clone(&tool);
            builder.tools.insert(name, RegisteredTool { tool, offered });
        }
        specs.push(spec);
    }
    if let Some(name) = &team.tool_namespace {
        specs = vec![ToolSpec::Namespace {
            name: name.clone(),
            description: "Tools for working with other agents.".to_owned(),
            tools: specs,
        }];
    }
    if team.direct_only && situation.script_mode() != ToolMode::Direct {
        builder.direct.extend(specs);
    } else {
        builder.specs.extend(specs);
    }
}

/// All tools, in the order in which they are offered.
fn tools(
    settings: &AgentSettings,
    team: &TeamSettings,
    models: &[&ModelInfo],
) -> [Arc<dyn Tool>; 7] {
    [
        Arc::new(SpawnTeamAgentTool::new(settings, team, models)),
        Arc::new(MessageTool::Send),
        Arc::new(MessageTool::FollowUp),
        Arc::new(WaitForMailTool::new(team)),
        Arc::new(InterruptAgentTool),
        Arc::new(ListAgentsTool),
        Arc::new(CloseTeamAgentTool),
    ]
}
