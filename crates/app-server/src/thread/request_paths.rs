//! The folders and environments of requests about threads.

use std::path::Path;

use codex_app_server_protocol::v2::TurnEnvironmentParams;
use codex_environments::Environments;

use crate::failure::Failure;
use crate::projection::LOCAL_ENVIRONMENT;
use crate::request_path::absolute;

/// Refuses environments that a thread cannot have.
pub(crate) fn check_environments(
    known: &Environments,
    environments: &[TurnEnvironmentParams],
) -> Result<(), Failure> {
    for (at, environment) in environments.iter().enumerate() {
        let (id, cwd) = (&environment.environment_id, &environment.cwd);
        if !Path::new(cwd).is_absolute() {
            return Err(Failure::invalid(format!(
                "invalid cwd for environment `{id}`: path `{cwd}` is not absolute"
            )));
        }
        if id != LOCAL_ENVIRONMENT {
            return Err(Failure::invalid(if known.has(id) {
                format!(
                    "environment `{id}` is another machine, where threads of this version cannot run commands"
                )
            } else {
                format!("unknown turn environment id `{id}`")
            }));
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
