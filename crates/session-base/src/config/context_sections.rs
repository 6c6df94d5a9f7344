//! Which parts of the context the model gets.

use serde::{Deserialize, Serialize};

/// Parts of the context that can be left out. The instructions themselves cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextSections {
    /// What commands may do. It holds whether or not the model is told.
    pub permissions: bool,
    /// The folder, the shell and the time.
    pub environment: bool,
    /// The date and the time zone, within the environment.
    pub time: bool,
    /// The instructions of modes such as the plan mode.
    pub modes: bool,
    /// How apps are used.
    pub apps: bool,
}

impl Default for ContextSections {
    fn default() -> Self {
        Self {
            permissions: true,
            environment: true,
            time: true,
            modes: true,
            apps: true,
        }
    }
}
