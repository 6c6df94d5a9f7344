//! Where a command can write, for whoever keeps what was there before.
//!
//! Nothing is permitted by this. A name counts as the program that it usually stands for, and a folder for temporary
//! files counts as nothing that is worth keeping.

use std::path::PathBuf;

use codex_project_markers::marked_folder;
use codex_sandbox::ConfinementPolicy;
use codex_shell_command::{ProgramCheck, known_safe_parts};

use super::decision::{Confinement, Permit};
use super::effect::CommandEffect;
use super::turn_policy::TurnPolicy;

/// Takes every name for the program that it usually stands for.
struct ByName;

impl ProgramCheck for ByName {
    fn is_system_program(&self, _: &str) -> bool {
        true
    }

    fn is_trusted_shell(&self, _: &str, _: &str) -> bool {
        true
    }

    fn has_variable(&self, _: &str) -> bool {
        false
    }
}

/// The folders that a command may write to. None if it can only read.
pub fn written_roots(
    command: &CommandEffect,
    turn_policy: &TurnPolicy,
    permit: &Permit,
) -> Vec<PathBuf> {
    let parts = known_safe_parts(&command.argv, &ByName);
    if !parts.is_empty() && parts.iter().all(|safe| *safe) {
        return Vec::new();
    }
    match (&permit.confinement, &turn_policy.policy) {
        (Confinement::Policy(grants), ConfinementPolicy::WorkspaceWrite(workspace)) => {
            let mut roots = vec![turn_policy.cwd.clone()];
            roots.extend(workspace.writable_roots.iter().cloned());
            roots.extend(grants.write.iter().cloned());
            roots
        }
        (Confinement::Policy(grants), ConfinementPolicy::ReadOnly { .. }) => grants.write.clone(),
        (Confinement::Policy(_) | Confinement::None | Confinement::OfPerson, _) => {
            let project = |folder: &PathBuf| {
                let top = marked_folder(folder, ".git");
                top.map_or_else(|| folder.clone(), ToOwned::to_owned)
            };
            let mut roots = vec![project(&turn_policy.cwd)];
            let other = project(&command.cwd);
            if !other.starts_with(&roots[0]) {
                roots.push(other);
            }
            roots
        }
    }
}
