//! Counts the use of one turn: its own, that of agents, and its calls of tools.

use std::time::Duration;

use codex_protocol::{AgentUsage, ThreadId, ToolUsage, TurnUsage, UsageLimits};
use parking_lot::Mutex;

use super::used::Used;

/// The meter of a turn. Agents of the turn use it, too.
#[derive(Debug)]
pub(super) struct TurnMeter {
    pub(super) limits: UsageLimits,
    /// When the turn began, by the clock of the process.
    pub(super) begun: Duration,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    total: Used,
    agents: Vec<(ThreadId, Used)>,
    tools: Vec<ToolUsage>,
}

impl TurnMeter {
    pub(super) fn new(limits: UsageLimits, begun: Duration) -> Self {
        Self {
            limits,
            begun,
            counts: Mutex::default(),
        }
    }

    /// Adds use, of an agent if there is one.
    pub(super) fn add(&self, used: &Used, agent: Option<&ThreadId>) {
        let mut counts = self.counts.lock();
        counts.total.add(used);
        let Some(agent) = agent else {
            return;
        };
        match counts.agents.iter_mut().find(|(known, _)| known == agent) {
            Some((_, of_agent)) => of_agent.add(used),
            None => counts.agents.push((agent.clone(), *used)),
        }
    }

    pub(super) fn add_call(&self, tool: &str, failed: bool, took: Duration, output_tokens: usize) {
        let mut counts = self.counts.lock();
        let known = counts.tools.iter().position(|known| known.tool == tool);
        let at = known.unwrap_or_else(|| {
            counts.tools.push(ToolUsage {
                tool: tool.to_owned(),
                calls: 0,
                failed: 0,
                duration_ms: 0,
                output_tokens: 0,
            });
            counts.tools.len() - 1
        });
        let of_tool = &mut counts.tools[at];
        of_tool.calls += 1;
        of_tool.failed += u64::from(failed);
        of_tool.duration_ms += u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        of_tool.output_tokens += output_tokens as u64;
    }

    /// The use so far, with the time since the turn began.
    pub(super) fn total(&self, now: Duration) -> Used {
        let mut total = self.counts.lock().total;
        total.time += now.saturating_sub(self.begun);
        total
    }

    pub(super) fn usage(&self) -> TurnUsage {
        let counts = self.counts.lock();
        let agent = |(thread_id, used): &(ThreadId, Used)| AgentUsage {
            thread_id: thread_id.clone(),
            requests: used.requests,
            tokens: used.tokens,
            cost: used.known_cost(),
        };
        TurnUsage {
            requests: counts.total.requests,
            tokens: counts.total.tokens,
            cost: counts.total.known_cost(),
            agents: counts.agents.iter().map(agent).collect(),
            tools: counts.tools.clone(),
        }
    }
}
