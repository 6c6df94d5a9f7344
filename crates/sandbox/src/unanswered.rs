//! Finds the paths of a policy whose file systems do not answer.
//!
//! A path that cannot be resolved can be neither opened nor protected, and preparing a sandbox with it would wait for ever.

use std::path::PathBuf;

use codex_mounts::NoAnswer;

use crate::policy::{ConfinementPolicy, PolicyContext, ReadAccess};
use crate::requested_roots::{requested_reads, requested_roots};

/// Fails if a path that the policy allows, denies or protects does not answer.
pub(crate) fn check(
    policy: &ConfinementPolicy,
    policy_context: &PolicyContext,
) -> Result<(), NoAnswer> {
    if !codex_mounts::may_wait() {
        return Ok(());
    }
    let Some((read, candidates)) = requested_roots(policy, policy_context) else {
        return Ok(());
    };
    let cwd = &policy_context.cwd;
    let mut paths: Vec<PathBuf> = vec![cwd.clone()];
    paths.extend(candidates.iter().map(|root| root.path.clone()));
    paths.extend(requested_reads(read, policy_context));
    paths.extend(policy_context.hidden.iter().map(|path| cwd.join(path)));
    if let ReadAccess::Restricted { denied, .. } = read {
        paths.extend(denied.iter().map(|path| cwd.join(path)));
    }
    if let ConfinementPolicy::WorkspaceWrite(options) = policy {
        paths.extend(options.read_only.iter().map(|path| cwd.join(path)));
    }
    paths
        .iter()
        .try_for_each(|path| codex_mounts::check(path))?;
    // Other projects are not used, so a dead one matters only where a command could change it.
    let projects = policy_context.engine.trusted_projects.snapshot();
    let is_writable = |project: &&PathBuf| {
        let mut roots = candidates.iter();
        roots.any(|root| project.starts_with(&root.path))
    };
    let mut projects = projects.iter().filter(is_writable);
    projects.try_for_each(|project| codex_mounts::check(project))
}
