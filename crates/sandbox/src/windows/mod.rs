//! Enforcement on Windows: commands run with a restricted token, which may write only where the access list of a file says
//! so.
//!
//! A token limits neither the network nor reading; policies that ask for this are refused. The entries in access lists stay
//! when a command has ended: they mention identifiers that only tokens of commands have.

mod apply;
mod placeholders;
mod probe;
mod security;
mod token;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::enforcement::EnforcementLevels;
use crate::file_rules::{FileRules, ReadScope};
use crate::plan::LaunchPlanError;
use crate::policy::NetworkMode;
use crate::setup::SetUpError;

pub use apply::{AppliedConfinement, ConfineError, WindowsConfinement as Confinement};
pub(crate) use placeholders::{is_placeholder_at, remove_if_abandoned};
pub(crate) use probe::probe;

/// The folders of programs and libraries.
pub(crate) const PLATFORM_DEFAULTS: &[&str] = &["C:\\Windows", "C:\\Program Files"];

/// Temporary folders belong to one user.
pub(crate) const SHARED_TEMPORARY_FOLDER: Option<&str> = None;

pub(crate) fn limits_processes(_: EnforcementLevels) -> bool {
    false
}

pub(crate) fn confine(
    rules: FileRules,
    network: NetworkMode,
    levels: EnforcementLevels,
) -> Result<Confinement, LaunchPlanError> {
    if !levels.restricted_token {
        return Err(LaunchPlanError::RestrictedToken);
    }
    if network == NetworkMode::Restricted {
        return Err(LaunchPlanError::Network);
    }
    if rules.read != ReadScope::Everything || !rules.hidden.is_empty() {
        return Err(LaunchPlanError::WritingOnly);
    }
    Ok(Confinement::new(&rules))
}

/// There is no time that programs cannot set, so everything counts as changed just now: no link is trusted where a command
/// may have written.
pub(crate) fn changed(_: &Metadata) -> SystemTime {
    SystemTime::now()
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

/// The temporary folder of commands with this environment.
#[must_use]
pub fn temporary_folder(environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let mut variables = environment.iter();
    let found = variables.find(|(name, _)| name.eq_ignore_ascii_case("TEMP"));
    found.map(|(_, folder)| folder.into())
}

pub(crate) fn set_up(rules: &FileRules) -> Result<(), SetUpError> {
    if !crate::plan::probe().restricted_token {
        return Err(SetUpError::NotEnforced);
    }
    let prepared = Confinement::new(rules).prepare();
    prepared.map_err(|error| SetUpError::AccessList(error.to_string()))
}
