//! The tools for agents, and what they share.
//!
//! Each emits its begin and its end, also if it is dropped or fails.

mod agent_config;
mod close_agent;
mod resume_agent;
mod send_input;
mod shared;
mod spawn_agent;
mod wait_agent;

use std::sync::Arc;

use crate::offer::{ToolSetBuilder, ToolSituation};

pub(super) use agent_config::{AgentWishes, config_of, model_description, role_description};
use close_agent::CloseAgentTool;
use resume_agent::ResumeAgentTool;
use send_input::SendInputTool;
pub(super) use shared::{EndEvent, read_stored, request};
use spawn_agent::SpawnAgentTool;
use wait_agent::WaitAgentTool;

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    let Some(agents) = &situation.options().agents else {
        return;
    };
    if agents.team.is_some() {
        return;
    }
    let services = situation.services;
    let make = || SpawnAgentTool::make_spec(agents, &services.model.choices());
    let spec = services.spawn_tool.get_or_init(make);
    builder.offer(SpawnAgentTool(Arc::clone(spec)));
    builder.offer(SendInputTool);
    builder.offer(ResumeAgentTool);
    builder.offer(WaitAgentTool);
    builder.offer(CloseAgentTool);
}
