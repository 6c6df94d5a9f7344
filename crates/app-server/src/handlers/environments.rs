//! `environment/*`: the machine of the server, and others that have exec servers.

use std::time::Duration;

use codex_app_server_protocol::v2::{self};
use codex_environments::{ExecServer, InfoError, MachineState};
use codex_protocol::LOCAL_ENVIRONMENT;
use url::Url;

use super::call::RequestContext;
use crate::failure::Failure;
use crate::server::AppServer;

pub(super) async fn info(
    RequestContext { server, .. }: RequestContext,
    params: v2::EnvironmentInfoParams,
) -> Result<v2::EnvironmentInfoResponse, Failure> {
    let id = params.environment_id;
    if id == LOCAL_ENVIRONMENT {
        return Ok(local_info(&server));
    }
    let info = server.host().environments().info(&id).await;
    let info = info.map_err(|error| match error {
        InfoError::Unknown(_) => Failure::invalid(error.to_string()),
        InfoError::Unreachable { .. } => Failure::internal(error.to_string()),
    })?;
    Ok(v2::EnvironmentInfoResponse {
        shell: v2::EnvironmentShellInfo {
            name: info.shell.name.clone(),
            path: info.shell.path.clone(),
        },
        cwd: info.cwd.as_ref().map(|cwd| cwd.uri()),
    })
}

fn local_info(server: &AppServer) -> v2::EnvironmentInfoResponse {
    let shell = server.host().shell();
    let name = shell.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".exe").unwrap_or(&name).to_owned();
    let path = shell.display().to_string();
    let cwd = Url::from_file_path(server.host().working_folder());
    v2::EnvironmentInfoResponse {
        shell: v2::EnvironmentShellInfo { name, path },
        cwd: cwd.ok().map(String::from),
    }
}

pub(super) async fn status(
    RequestContext { server, .. }: RequestContext,
    params: v2::EnvironmentStatusParams,
) -> Result<v2::EnvironmentStatusResponse, Failure> {
    use v2::EnvironmentStatusKind as Kind;
    let id = params.environment_id;
    let (status, error) = if id == LOCAL_ENVIRONMENT {
        (Kind::Ready, None)
    } else {
        match server.host().environments().state(&id).await {
            None => (Kind::Unknown, Some(InfoError::Unknown(id).to_string())),
            Some(MachineState::Pending) => (Kind::Pending, None),
            Some(MachineState::Ready) => (Kind::Ready, None),
            Some(MachineState::Disconnected(reason)) => (Kind::Disconnected, Some(reason)),
        }
    };
    Ok(v2::EnvironmentStatusResponse { status, error })
}

pub(super) async fn add(
    RequestContext { server, .. }: RequestContext,
    params: v2::EnvironmentAddParams,
) -> Result<v2::EnvironmentAddResponse, Failure> {
    if params.environment_id == LOCAL_ENVIRONMENT {
        return Err(Failure::invalid("environment id `local` is reserved"));
    }
    let timeout = params.connect_timeout_ms.map(u64::try_from).transpose();
    let timeout = timeout
        .map_err(|_| Failure::invalid("Invalid request: connectTimeoutMs must not be negative"))?;
    let exec_server = ExecServer {
        url: params.exec_server_url,
        bearer_token: params.auth_bearer_token,
        request_id: params.websocket_request_id,
        timeout: timeout.map(Duration::from_millis),
    };
    let added = server
        .host()
        .environments()
        .add(&params.environment_id, exec_server);
    added.map_err(|error| Failure::invalid(error.to_string()))?;
    Ok(v2::EnvironmentAddResponse {})
}
