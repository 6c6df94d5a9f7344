//! Windows: nothing is enforced, so every policy that would have to be enforced is refused.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::enforcement::{Enforcement, EnforcementLevels, Namespaces};
use crate::file_rules::FileRules;
use crate::plan::LaunchPlanError;
use crate::policy::NetworkMode;

pub use NoConfinement as Confinement;

/// There is no value of this type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoConfinement {}

impl NoConfinement {
    pub(crate) fn enforcement(&self) -> Enforcement {
        match *self {}
    }
}

/// The folders of programs and libraries.
pub(crate) const PLATFORM_DEFAULTS: &[&str] = &["C:\\Windows", "C:\\Program Files"];

pub(crate) fn probe() -> EnforcementLevels {
    EnforcementLevels {
        landlock: 0,
        seccomp: false,
        namespaces: Namespaces::Unavailable,
        seatbelt: false,
    }
}

pub(crate) fn limits_processes(_: EnforcementLevels) -> bool {
    false
}

pub(crate) fn confine(
    _: FileRules,
    _: NetworkMode,
    _: EnforcementLevels,
) -> Result<NoConfinement, LaunchPlanError> {
    Err(LaunchPlanError::System)
}

/// The time of the last change of the content: there is no time that programs cannot set. Nothing depends on it, because
/// no command is confined.
pub(crate) fn changed(metadata: &Metadata) -> SystemTime {
    metadata.modified().unwrap_or_else(|_| SystemTime::now())
}

/// Whether everyone may create entries in a folder. Access lists are not read: temporary folders belong to one user.
#[must_use]
pub fn is_shared_folder(_: &Path) -> bool {
    false
}

/// No folder is named after a number of the user.
pub(crate) fn user() -> u32 {
    0
}

/// The path as the file system spells it: case, short names, and with the prefix that `canonicalize` adds.
pub(crate) fn as_stored(path: PathBuf) -> PathBuf {
    dunce::canonicalize(&path).unwrap_or(path)
}

pub(crate) fn is_placeholder_at(_: &Path) -> bool {
    false
}

pub(crate) fn remove_if_abandoned(_: &Path) {}
