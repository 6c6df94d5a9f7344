//! Roles of agents.

use std::fmt::Debug;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::SessionConfig;

/// The settings for agents.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// How many agents a tree may have open at once.
    pub max_threads: usize,
    /// The maximum depth of the tree. The root is at 0.
    pub max_depth: i32,
    /// Roles in addition to the built-in ones.
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

/// Roles from outside of the engine.
pub trait Roles: Debug + Send + Sync {
    /// All roles.
    fn all(&self) -> &[AgentRole];

    /// Applies a role to the configuration of an agent. May read files.
    ///
    /// # Errors
    /// The settings of the role are not usable.
    fn apply(&self, role: &str, config: &mut SessionConfig) -> Result<(), RoleUnavailable>;
}

/// A role whose settings are not usable, and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RoleUnavailable(pub String);

/// A role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRole {
    /// The name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// Names for agents of the role; our own if there are none.
    pub nicknames: Vec<String>,
}

/// The default role.
pub(crate) const DEFAULT_ROLE: &str = "default";

/// The built-in roles. They do not differ in settings.
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

/// All roles. Those from outside replace built-in ones of the same name.
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
