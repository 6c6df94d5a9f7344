//! Roles: what an agent is for, and what differs in its settings.

use std::fmt::Debug;
use std::sync::Arc;

use super::SessionConfig;

/// The agents that the model may start.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// How many may be open at once, over all threads of a tree.
    pub max_threads: usize,
    /// How deep they may start each other. The root is at 0.
    pub max_depth: i32,
    /// Roles beside the ones that we know.
    pub roles: Option<Arc<dyn Roles>>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            max_threads: 6,
            max_depth: 1,
            roles: None,
        }
    }
}

/// Roles that come from outside of the engine.
pub trait Roles: Debug + Send + Sync {
    /// All of them.
    fn all(&self) -> &[AgentRole];

    /// Changes the settings of an agent to those of a role. May read files.
    ///
    /// # Errors
    /// The settings of the role cannot be had; a sentence that says why.
    fn apply(&self, role: &str, config: &mut SessionConfig) -> Result<(), String>;
}

/// What is known of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentRole {
    /// Its name.
    pub name: String,
    /// What it is for, for the model.
    pub description: String,
    /// Names for agents of the role; ours if there are none.
    pub nicknames: Vec<String>,
}

/// The role of agents that were given none.
pub(crate) const DEFAULT_ROLE: &str = "default";

/// Our own roles. They differ in what the model uses them for, and in no setting.
const OWN: [(&str, &str); 3] = [
    (DEFAULT_ROLE, "An agent without a special role."),
    (
        "explorer",
        "Answers a narrow question about the code by reading it. Ask one thing at a time, take the \
         answer as it is, and start several for questions that do not depend on each other.",
    ),
    (
        "worker",
        "Carries out a bounded piece of work, such as a feature or a fix. Tell it which files are its \
         own, and that others work in the same folder, whose changes it must leave alone.",
    ),
];

/// Every role: those from outside first, which replace ours of the same name.
pub(crate) fn all_roles(settings: &AgentSettings) -> Vec<AgentRole> {
    let outside = settings.roles.as_deref().map_or(&[][..], Roles::all);
    let mut all = outside.to_vec();
    for (name, description) in OWN {
        if !outside.iter().any(|role| role.name == name) {
            all.push(AgentRole {
                name: name.to_owned(),
                description: description.to_owned(),
                nicknames: Vec::new(),
            });
        }
    }
    all
}

/// A role by its name.
pub(crate) fn find_role(settings: &AgentSettings, name: &str) -> Option<AgentRole> {
    let mut roles = all_roles(settings).into_iter();
    roles.find(|role| role.name == name)
}
