//! The tools for agents that have paths.

mod close_agent;
mod interrupt_agent;
mod list_agents;
mod messages;
mod shared;
mod spawn_agent;
mod wait_agent;

use std::sync::Arc;

use codex_model_client::{ModelInfo, ToolSpec};

use super::tool::Tool;
use crate::config::{AgentSettings, TeamSettings};
use close_agent::CloseTeamAgentTool;
use interrupt_agent::InterruptAgentTool;
use list_agents::ListAgentsTool;
use messages::MessageTool;
use spawn_agent::SpawnTeamAgentTool;
use wait_agent::WaitForMailTool;

/// The namespace in which some models call the tools.
pub(super) const NAMESPACE: &str = "collaboration";

/// All tools, in the order in which they are offered.
pub(super) fn tools(
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

/// The description of the namespace of the tools.
pub(super) fn namespace(name: &str, tools: Vec<ToolSpec>) -> ToolSpec {
    ToolSpec::Namespace {
        name: name.to_owned(),
        description: "Tools for working with other agents.".to_owned(),
        tools,
    }
}
