//! Prepares folders for commands in the sandbox of Windows.

use crate::file_rules::FileRules;
use crate::platform;
use crate::policy::{ConfinementPolicy, PolicyContext};

/// Why there is nothing to prepare, or why it failed.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// Other systems need no preparation.
    #[error("is only supported on Windows")]
    OtherSystem,
    /// Commands would not be confined.
    #[error(
        "is not possible: a trial has shown that this system does not enforce restricted tokens"
    )]
    NotEnforced,
    /// The access list of a folder cannot be changed.
    #[error("has failed: {0}")]
    AccessList(String),
}

/// Changes the access lists of the writable folders of a policy, so that the first command need not wait for it. Takes as
/// long as the folders have files.
///
/// # Errors
/// Commands cannot be confined to these folders.
pub fn set_up(policy: &ConfinementPolicy, context: &PolicyContext) -> Result<(), SetUpError> {
    match FileRules::from_policy(policy, context) {
        Some(rules) => platform::set_up(&rules),
        None => Ok(()),
    }
}
