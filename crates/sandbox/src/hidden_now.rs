//! Files that patterns hide: which exist when a command starts, and whether a path is one of them.
//!
//! The built-in list is about commands in a sandbox, which hides as much of it as the system can. Other patterns are about all
//! commands of the model: those without a sandbox get one that does nothing but hide.

use std::path::{Path, PathBuf};

use codex_hidden_files::{
    FindError, HiddenFiles, HiddenPath, HidingRules, PatternOwner, WorkspaceFolder,
};
use codex_project_markers::marked_folder;
use codex_system::file;

use crate::enforcement::{EnforcementLevels, Namespaces};
use crate::file_rules::{FileRules, WhenAbsent};
use crate::policy::{ConfinementPolicy, Grants, PolicyContext};

/// What is hidden from a command that starts now.
#[derive(Debug, Default)]
pub(crate) struct HiddenNow {
    found: Vec<HiddenPath>,
    /// Files of projects that say what is hidden. Commands do not change them.
    ignore_files: Vec<PathBuf>,
}

impl HiddenNow {
    /// Finds the files. Without a sandbox nothing is hidden that a person has not chosen to hide, and what only the person has
    /// chosen gives way to the choice of no sandbox if the system cannot hide files.
    pub(crate) fn find(
        policy: &ConfinementPolicy,
        policy_context: &PolicyContext,
        levels: EnforcementLevels,
    ) -> Result<Self, FindError> {
        let rules = rules_of(policy, policy_context);
        let is_open = !policy.confines_files();
        if is_open {
            let is_enforced = hides_files(levels) || rules.are_required();
            if !rules.are_chosen() || !is_enforced {
                return Ok(Self::default());
            }
        }
        let mut found = policy_context.hidden_files.find(&rules)?;
        found.retain(|hidden| {
            let is_left_out = is_open && hidden.owner == PatternOwner::BuiltIn;
            !is_left_out && !is_granted(hidden, &policy_context.grants, &policy_context.cwd)
        });
        Ok(Self {
            found,
            ignore_files: rules.ignore_files().to_vec(),
        })
    }

    /// Whether a command needs a sandbox that hides them.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty() && self.ignore_files.is_empty()
    }

    /// Hides the files.
    pub(crate) fn add_to(self, rules: &mut FileRules) -> Result<(), FindError> {
        for HiddenPath { path, owner } in self.found {
            let mut roots = rules.writable.iter();
            if roots.any(|root| root.starts_with(&path)) {
                if owner == PatternOwner::BuiltIn {
                    continue;
                }
                return Err(FindError::Workspace {
                    setting: owner.name(),
                    path: path.display().to_string(),
                });
            }
            if rules.hides(&path) {
                continue;
            }
            match owner {
                PatternOwner::BuiltIn => rules.masked.push(path),
                _ => rules.hidden.push(path),
            }
        }
        for file in self.ignore_files {
            rules.protect(file, WhenAbsent::Ignore);
        }
        rules.remove_redundant_protection();
        Ok(())
    }
}

/// Who hides a path from tools of the model, if it is hidden. `path` is absolute; it need not exist.
#[must_use]
pub fn hidden_by(
    policy: &ConfinementPolicy,
    policy_context: &PolicyContext,
    path: &Path,
) -> Option<PatternOwner> {
    let rules = rules_of(policy, policy_context);
    let owner = match rules.hides(path) {
        Some(owner) => owner.clone(),
        None => owner_of_other_name(&rules, policy_context, path)?,
    };
    let hidden = HiddenPath {
        path: codex_mounts::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
        owner,
    };
    let is_allowed = is_granted(&hidden, &policy_context.grants, &policy_context.cwd);
    (!is_allowed).then_some(hidden.owner)
}

/// Whether a path is that of a project's file that says what is hidden.
#[must_use]
pub fn is_ignore_file(
    policy: &ConfinementPolicy,
    policy_context: &PolicyContext,
    path: &Path,
) -> bool {
    rules_of(policy, policy_context).is_ignore_file(path)
}

/// Who hides another name of the same file. If that cannot be found out, the path is hidden.
fn owner_of_other_name(
    rules: &HidingRules,
    policy_context: &PolicyContext,
    path: &Path,
) -> Option<PatternOwner> {
    let metadata = codex_mounts::metadata(path).ok()?;
    if rules.is_empty() || !file::has_other_names(&metadata) {
        return None;
    }
    let number =
        |metadata: &std::fs::Metadata| (file::device_number(metadata), file::file_number(metadata));
    let Ok(found) = policy_context.hidden_files.find(rules) else {
        return Some(PatternOwner::Settings);
    };
    let same = found.into_iter().find(|hidden| {
        codex_mounts::metadata(&hidden.path).is_ok_and(|other| number(&other) == number(&metadata))
    });
    same.map(|hidden| hidden.owner)
}

/// Whether a person has allowed this very path. A link to it is not enough, because the question named the link. Nobody allows
/// what the administrator hides.
fn is_granted(hidden: &HiddenPath, grants: &Grants, cwd: &Path) -> bool {
    if hidden.owner == PatternOwner::Administrator || grants.read.is_empty() {
        return false;
    }
    let real_cwd = codex_mounts::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
    let mut granted = grants.read.iter();
    granted.any(|path| match path.strip_prefix(cwd) {
        Ok(below) => real_cwd.join(below) == hidden.path,
        Err(_) => real_cwd.join(path) == hidden.path,
    })
}

/// The patterns that apply to a working folder.
#[must_use]
pub fn hiding_rules(hidden_files: &HiddenFiles, cwd: Option<&Path>) -> HidingRules {
    let workspace: Vec<_> = cwd
        .map(|cwd| in_repository(cwd.to_owned()))
        .into_iter()
        .collect();
    hidden_files.rules(&workspace)
}

fn in_repository(folder: PathBuf) -> WorkspaceFolder {
    let top = marked_folder(&folder, ".git").unwrap_or(&folder).to_owned();
    WorkspaceFolder { folder, top }
}

fn rules_of(policy: &ConfinementPolicy, policy_context: &PolicyContext) -> HidingRules {
    let cwd = &policy_context.cwd;
    let further: &[PathBuf] = match policy {
        ConfinementPolicy::WorkspaceWrite(options) => &options.writable_roots,
        _ => &[],
    };
    let folders = further.iter().map(|root| cwd.join(root));
    let workspace: Vec<_> = std::iter::once(cwd.clone())
        .chain(folders)
        .map(in_repository)
        .collect();
    policy_context.hidden_files.rules(&workspace)
}

/// Whether paths can be hidden from a command that has no other sandbox.
fn hides_files(levels: EnforcementLevels) -> bool {
    levels.seatbelt || (levels.seccomp && levels.namespaces != Namespaces::Unavailable)
}

/// Whether a command that has no sandbox still reads no hidden files.
#[must_use]
pub fn hides_without_sandbox() -> bool {
    hides_files(crate::plan::probe())
}
