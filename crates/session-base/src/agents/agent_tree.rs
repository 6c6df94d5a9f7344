//! The tree of agents that a thread is part of, and the configuration of agents.

use std::sync::Arc;

use codex_protocol::{SessionSource, SubAgentSource, ThreadId};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::team::{AgentTeam, TeamSeat};
use crate::budget::ThreadBudget;
use crate::config::{AgentSettings, SessionConfig};

/// The position of a thread in a tree of agents.
#[derive(Clone, Debug, Default)]
pub struct AgentTree {
    /// The distance from the root.
    pub depth: i32,
    /// The thread at the root; none for itself, and for an agent that is loaded alone.
    pub root: Option<ThreadId>,
    /// Limits the agents of the whole tree. The root makes it.
    pub slots: Option<Arc<Semaphore>>,
    /// Cancelled when the parent drops the agent.
    pub cancel: CancellationToken,
    /// What the parent uses; none for a root.
    pub parent_budget: Option<Arc<ThreadBudget>>,
    /// The place in a team, if agents are addressed by path.
    pub seat: Option<TeamSeat>,
}

impl AgentTree {
    /// Makes the slots or the team, if this is the root. `is_resumed` says that an earlier process may have started
    /// agents.
    pub fn rooted(mut self, settings: Option<&AgentSettings>, is_resumed: bool) -> Self {
        if self.depth == 0
            && let Some(team) = settings.and_then(|settings| settings.team.as_ref())
        {
            let team = Arc::new(AgentTeam::new(Arc::new(team.clone()), is_resumed));
            self.seat = Some(team.root_seat());
        }
        let most = settings.map_or(0, |settings| settings.max_threads);
        let most = most.min(Semaphore::MAX_PERMITS);
        self.slots
            .get_or_insert_with(|| Arc::new(Semaphore::new(most)));
        self
    }

    /// The position of an agent of this thread.
    pub fn of_agent(&self, thread: &ThreadId, budget: &Arc<ThreadBudget>) -> Self {
        Self {
            depth: self.depth.saturating_add(1),
            root: Some(self.root.as_ref().unwrap_or(thread).clone()),
            slots: self.slots.clone(),
            cancel: CancellationToken::new(),
            parent_budget: Some(Arc::clone(budget)),
            seat: None,
        }
    }

    /// What the thread is told about agents, if they are addressed by path.
    pub fn hint(&self) -> Option<Arc<str>> {
        let seat = self.seat.as_ref()?;
        let settings = &seat.team.settings;
        let (given, own) = match self.depth {
            0 => (
                &settings.root_hint,
                include_str!("../../prompts/team_root.md"),
            ),
            _ => (
                &settings.agent_hint,
                include_str!("../../prompts/team_agent.md"),
            ),
        };
        let text = match given {
            Some(text) => text.clone(),
            None => (own.trim_end())
                .replace("{path}", &seat.path.0)
                .replace("{slots}", &settings.max_agents.to_string()),
        };
        (!text.is_empty()).then(|| Arc::from(text))
    }
}

/// Whether a configuration is that of an agent.
pub fn is_agent(config: &SessionConfig) -> bool {
    matches!(
        config.identity.source,
        SessionSource::SubAgent(SubAgentSource::ThreadSpawn { .. })
    )
}
