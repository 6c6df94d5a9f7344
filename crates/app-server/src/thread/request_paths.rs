//! The folders and environments of requests about threads.

use std::path::Path;

use codex_app_server_protocol::v2::TurnEnvironmentParams;
use codex_environments::{Environments, RemotePath};
use codex_protocol::LOCAL_ENVIRONMENT;

use crate::failure::Failure;
use crate::request_path::absolute;

/// Refuses environments that a thread cannot have.
pub(crate) fn check_environments(
    known: &Environments,
    environments: &[TurnEnvironmentParams],
) -> Result<(), Failure> {
    for (at, environment) in environments.iter().enumerate() {
        let (id, cwd) = (&environment.environment_id, &environment.cwd);
        let is_local = id == LOCAL_ENVIRONMENT;
        if !is_local && !known.has(id) {
            return Err(Failure::invalid(format!(
                "unknown turn environment id `{id}`"
            )));
        }
        let roots = environment.runtime_workspace_roots.iter().flatten();
        for path in std::iter::once(cwd).chain(roots) {
            let is_absolute = if is_local {
                Path::new(path).is_absolute()
            } else {
                RemotePath::new(path).is_some()
            };
            if !is_absolute {
                return Err(Failure::invalid(format!(
                    "invalid cwd for environment `{id}`: path `{path}` is not absolute"
                )));
            }
        }
        if environments[..at]
            .iter()
            .any(|other| other.environment_id == *id)
        {
            return Err(Failure::invalid(format!(
                "duplicate turn environment id `{id}`"
            )));
        }
    }
    Ok(())
}

/// Refuses a relative path.
pub(crate) fn check_absolute(path: &str) -> Result<(), Failure> {
    absolute(path).map(drop)
}
