//! Environments of threads. There is one: the machine of the server.

use std::path::Path;

use codex_app_server_protocol::v2::TurnEnvironmentParams;

use crate::failure::Failure;
use crate::projection::LOCAL_ENVIRONMENT;

/// Refuses unknown and duplicate environments.
pub(crate) fn check_environments(environments: &[TurnEnvironmentParams]) -> Result<(), Failure> {
    for (at, environment) in environments.iter().enumerate() {
        let cwd = &environment.cwd;
        if !Path::new(cwd).is_absolute() {
            return Err(Failure::invalid(format!(
                "Invalid request: the folder `{cwd}` of an environment must be absolute"
            )));
        }
        let id = &environment.environment_id;
        if id != LOCAL_ENVIRONMENT {
            return Err(Failure::invalid(format!(
                "unknown turn environment id `{id}`"
            )));
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
