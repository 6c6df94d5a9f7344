//! Prepares folders for commands in the sandbox of Windows.

use crate::file_rules::FileRules;
use crate::platform;
use crate::policy::{ConfinementPolicy, PolicyContext};
use crate::setup_error::SetUpError;

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
