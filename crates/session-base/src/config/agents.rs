//! Roles of agents.

use std::time::Duration;

use codex_protocol::{Personality, ReasoningEffort, ReasoningSummary, ServiceTier, Verbosity};
use serde::{Deserialize, Serialize};

use super::SessionOptions;

/// The settings for agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSettings {
    /// How many agents a tree may have open at once.
    pub max_threads: usize,
    /// The maximum depth of the tree. The root is at 0.
    pub max_depth: i32,
    /// Roles in addition to the built-in ones.
    pub roles: Vec<AgentRole>,
    /// How agents are addressed by path; none if they are addressed by id.
    pub team: Option<TeamSettings>,
}

/// The settings for agents that are addressed by path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamSettings {
    /// How many agents of a tree may be at work at once, and in memory.
    pub max_agents: usize,
    /// The shortest, longest and usual wait for messages.
    pub min_wait: Duration,
    pub max_wait: Duration,
    pub default_wait: Duration,
    /// Text added to the description of the tool that starts agents.
    pub usage_hint: Option<String>,
    /// What the root is told about agents, in place of the built-in text; empty for nothing.
    pub root_hint: Option<String>,
    /// The same for agents.
    pub agent_hint: Option<String>,
    /// The namespace of the tools.
    pub tool_namespace: Option<String>,
    /// Whether role, model and effort of agents are kept from the model.
    pub hide_metadata: bool,
    /// Whether scripts of the model cannot call the tools.
    pub direct_only: bool,
}

impl Default for TeamSettings {
    fn default() -> Self {
        Self {
            max_agents: 3,
            min_wait: Duration::from_secs(10),
            max_wait: Duration::from_secs(3600),
            default_wait: Duration::from_secs(30),
            usage_hint: None,
            root_hint: None,
            agent_hint: None,
            tool_namespace: None,
            hide_metadata: true,
            direct_only: true,
        }
    }
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            max_threads: 6,
            max_depth: 1,
            roles: Vec::new(),
            team: None,
        }
    }
}

/// How jobs of agents run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentJobs {
    /// How long an agent may work on an item, unless the model says so.
    pub max_runtime: Duration,
}

/// A role whose settings are not usable, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{0}")]
pub struct RoleUnavailable(pub String);

/// A role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRole {
    /// The name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// Names for agents of the role; our own if there are none.
    pub nicknames: Vec<String>,
    /// What it changes. Older traces do not have it.
    #[serde(default = "RoleSettings::none")]
    pub settings: Result<RoleSettings, RoleUnavailable>,
}

/// What a role changes of an agent. It cannot change what limits it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleSettings {
    pub developer_instructions: Option<String>,
    pub model: Option<String>,
    pub effort: Option<ReasoningEffort>,
    pub summary: Option<ReasoningSummary>,
    pub verbosity: Option<Verbosity>,
    pub service_tier: Option<ServiceTier>,
    pub personality: Option<Personality>,
}

impl RoleSettings {
    fn none() -> Result<Self, RoleUnavailable> {
        Ok(Self::default())
    }

    /// Applies the settings to an agent.
    pub fn apply(self, options: &mut SessionOptions) {
        let Self {
            developer_instructions,
            model,
            effort,
            summary,
            verbosity,
            service_tier,
            personality,
        } = self;
        let settings = &mut options.settings;
        if let Some(model) = model {
            settings.model = model;
            settings.effort = None;
        }
        settings.effort = effort.or(settings.effort.take());
        settings.summary = summary.or(settings.summary);
        options.verbosity = verbosity.or(options.verbosity);
        settings.service_tier = service_tier.or(settings.service_tier.take());
        settings.personality = personality.or(settings.personality);
        let own = options.developer_instructions.take();
        options.developer_instructions = developer_instructions.or(own);
    }
}

/// The default role.
pub const DEFAULT_ROLE: &str = "default";

/// The built-in roles. They do not differ in settings.
const OWN_ROLES: [(&str, &str); 3] = [
    (DEFAULT_ROLE, "An agent without a special role."),
    (
        "explorer",
        "Answers a narrow question about the code by reading it. Ask it one thing and take the answer as \
         it is; start several for independent questions.",
    ),
    (
        "worker",
        "Carries out a bounded piece of work. Tell it which files are its own, and to leave alone what \
         others change in the same folder.",
    ),
];

/// All roles. Those from outside replace built-in ones of the same name.
pub fn all_roles(settings: &AgentSettings) -> Vec<AgentRole> {
    let outside = &settings.roles;
    let mut all = outside.clone();
    for (name, description) in OWN_ROLES {
        if !outside.iter().any(|role| role.name == name) {
            all.push(AgentRole {
                name: name.to_owned(),
                description: description.to_owned(),
                nicknames: Vec::new(),
                settings: RoleSettings::none(),
            });
        }
    }
    all
}

/// A role by its name.
pub fn find_role(settings: &AgentSettings, name: &str) -> Option<AgentRole> {
    let mut roles = all_roles(settings).into_iter();
    roles.find(|role| role.name == name)
}
