//! What an agent has from the thread that starts it.

use std::sync::Arc;

use codex_protocol::{SandboxPolicy, SessionSource, SubAgentSource};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::AgentSettings;
use crate::config::SessionConfig;
use crate::session::Services;
use crate::turn::TurnSettings;

/// What ties a thread to the tree of agents that it is part of.
#[derive(Clone, Debug, Default)]
pub(crate) struct AgentTree {
    /// How far it is from the root.
    pub(crate) depth: i32,
    /// The places for agents that the tree has left. The root makes them.
    pub(crate) slots: Option<Arc<Semaphore>>,
    /// Cancelled when the parent lets go of it.
    pub(crate) cancel: CancellationToken,
}

impl AgentTree {
    /// The same, with places of its own if it has none of a tree.
    pub(crate) fn rooted(mut self, settings: Option<&AgentSettings>) -> Self {
        let most = settings.map_or(0, |settings| settings.max_threads);
        let most = most.min(Semaphore::MAX_PERMITS);
        self.slots
            .get_or_insert_with(|| Arc::new(Semaphore::new(most)));
        self
    }

    /// That of an agent of this thread.
    pub(crate) fn of_agent(&self) -> Self {
        Self {
            depth: self.depth.saturating_add(1),
            slots: self.slots.clone(),
            cancel: CancellationToken::new(),
        }
    }
}

/// What an agent of a thread is set to: what the thread was made with, and what its turn is set to now.
pub(crate) fn config_of_agent(services: &Services, turn: &TurnSettings) -> SessionConfig {
    let mut config = services.config.clone();
    let settings = &mut config.settings;
    settings.model.clone_from(&turn.model.slug);
    settings.effort = turn.mode.settings.reasoning_effort.clone();
    settings.summary = Some(turn.summary);
    settings.service_tier = turn.service_tier.clone();
    settings.personality = turn.personality;
    config.base_instructions = Some(services.instructions.to_string());
    config.developer_instructions = services
        .developer_instructions
        .as_deref()
        .map(str::to_owned);
    config.dynamic_tools = Vec::new();
    config.features.default_mode_questions = false;
    config.raw_items = false;
    config.turn_ended = None;
    config.replay_events = false;
    take_policies(&mut config, turn);
    let deepest = services.agent_tree.depth.saturating_add(1);
    config.agents = config.agents.filter(|agents| deepest < agents.max_depth);
    config
}

/// What nothing may loosen: where an agent works, what it may touch and when it has to ask.
pub(crate) fn take_policies(config: &mut SessionConfig, turn: &TurnSettings) {
    config.settings.cwd.clone_from(&turn.cwd);
    config.settings.approval_policy = turn.approval_policy;
    let sandbox: &SandboxPolicy = &turn.sandbox_policy;
    config.settings.sandbox_policy = sandbox.clone();
}

/// Whether settings are those of an agent.
pub(crate) fn is_agent(config: &SessionConfig) -> bool {
    matches!(
        config.source,
        SessionSource::SubAgent(SubAgentSource::ThreadSpawn { .. })
    )
}
