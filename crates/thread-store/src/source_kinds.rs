//! The source kinds that a list can be restricted to.

use codex_protocol::{SessionSource, SubAgentSource};

/// The prefix of the kind of every agent thread.
const AGENT: &str = "agent:";

/// A set of source kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceKinds {
    exact: Vec<String>,
    every_agent: bool,
}

impl SourceKinds {
    /// The kinds of threads that a user converses with.
    #[must_use]
    pub fn interactive() -> Self {
        let own = |name: &str| SessionSource::Custom(name.to_owned());
        let mut kinds = Self::default();
        kinds.add(&SessionSource::Cli);
        kinds.add(&SessionSource::VSCode);
        kinds.add(&own("atlas"));
        kinds.add(&own("chatgpt"));
        kinds
    }

    /// Adds the kind of `source`.
    pub fn add(&mut self, source: &SessionSource) {
        self.exact.push(kind_of(source));
    }

    /// Adds the kind of threads spawned by an agent.
    pub fn add_spawned(&mut self) {
        self.exact.push(format!("{AGENT}spawn"));
    }

    /// Adds the kind of agents with their own label.
    pub fn add_labelled(&mut self) {
        self.exact.push(format!("{AGENT}other"));
    }

    /// Adds every kind of agent.
    pub fn add_agents(&mut self) {
        self.every_agent = true;
    }

    pub(crate) fn exact(&self) -> &[String] {
        &self.exact
    }

    /// The common prefix of all agent kinds, if the set contains all of them.
    pub(crate) fn prefix(&self) -> Option<&'static str> {
        self.every_agent.then_some(AGENT)
    }
}

pub(crate) fn kind_of(source: &SessionSource) -> String {
    let agent = |kind: &str| format!("{AGENT}{kind}");
    match source {
        SessionSource::Cli => "cli".to_owned(),
        SessionSource::VSCode => "vscode".to_owned(),
        SessionSource::Exec => "exec".to_owned(),
        SessionSource::Mcp => "mcp".to_owned(),
        SessionSource::Custom(name) => format!("custom:{name}"),
        SessionSource::SubAgent(SubAgentSource::Review) => agent("review"),
        SessionSource::SubAgent(SubAgentSource::Compact) => agent("compact"),
        SessionSource::SubAgent(SubAgentSource::MemoryConsolidation) => agent("memory"),
        SessionSource::SubAgent(SubAgentSource::ThreadSpawn { .. }) => agent("spawn"),
        SessionSource::SubAgent(SubAgentSource::Other(_)) => agent("other"),
        _ => "unknown".to_owned(),
    }
}
