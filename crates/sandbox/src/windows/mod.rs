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

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use codex_host_policy::HostPolicy;

use crate::enforcement::EnforcementLevels;
use crate::file_rules::{FileRules, ReadScope};
use crate::network_mode::NetworkMode;
use crate::plan_error::LaunchPlanError;
use crate::same_names::as_opened_by_windows;
use crate::setup_error::SetUpError;

pub use apply::{AppliedConfinement, ConfineError, WindowsConfinement as Confinement};
pub(crate) use probe::probe;

/// The name of the sandbox in metadata of turns.
pub const SANDBOX_NAME: &str = "windows_sandbox";

/// The folders of programs and libraries.
pub(crate) const PLATFORM_DEFAULTS: &[&str] = &["C:\\Windows", "C:\\Program Files"];

/// Parts of messages of `cmd` and PowerShell that tell of a denial, in English.
pub(crate) const OWN_DENIAL_MESSAGES: &[&str] = &["access is denied", "access to the path"];

/// Temporary folders belong to one user.
pub(crate) const SHARED_TEMPORARY_FOLDER: Option<&str> = None;

pub(crate) fn limits_processes(_: EnforcementLevels) -> bool {
    false
}

pub(crate) fn confine(
    rules: FileRules,
    network: NetworkMode,
    _: Option<HostPolicy>,
    levels: EnforcementLevels,
) -> Result<Confinement, LaunchPlanError> {
    if !levels.restricted_token {
        return Err(LaunchPlanError::RestrictedToken);
    }
    if network != NetworkMode::Enabled {
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

/// The path in a form that is equal for the same file, whether it exists or not: without short names, case, and what is
/// removed from names. A link at its end stays.
pub(crate) fn comparable(path: &Path) -> Cow<'_, Path> {
    let is_real = |path: &&Path| {
        let metadata = path.symlink_metadata();
        metadata.is_ok_and(|metadata| !metadata.is_symlink())
    };
    let existing = path.ancestors().find(is_real).unwrap_or(path);
    let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
    let mut whole = as_stored(existing.to_path_buf());
    whole.extend(rest);
    Cow::Owned(as_opened_by_windows(&whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_rules::{ProtectedPath, WhenAbsent};

    #[test]
    fn no_name_of_a_protected_folder_is_writable() {
        let guard = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(guard.path()).unwrap();
        std::fs::create_dir(root.join(".git")).unwrap();
        let protected = [".git", ".codex"].map(|name| ProtectedPath {
            path: root.join(name),
            when_absent: WhenAbsent::KeepAbsent,
        });
        let rules = FileRules {
            read: ReadScope::Everything,
            writable: vec![root.clone()],
            protected: protected.into(),
            hidden: Vec::new(),
            masked: Vec::new(),
            untrusted: Vec::new(),
        };
        assert!(rules.may_write(&root.join("new/file")));
        assert!(rules.may_write(&root.join("git/file")));
        for name in [
            ".git",
            ".GIT",
            ".git.",
            ".git::$INDEX_ALLOCATION",
            ".Codex",
            ".codex ",
        ] {
            let file = root.join(name).join("config");
            assert!(!rules.may_write(&file), "{name}");
        }
    }
}
