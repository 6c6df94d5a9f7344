//! `server/diagnostics`, `rollout/compress`, `environment/*`,
//! `thread/realtime/listVoices`: facts about the server and about what it does not have.

use codex_app_server_protocol::{NoParams, v2};
use url::Url;

use super::blocking;
use super::call::RequestContext;
use crate::failure::Failure;
use crate::projection::LOCAL_ENVIRONMENT;

pub(super) async fn diagnostics(
    RequestContext { server, .. }: RequestContext,
    _: v2::ServerDiagnosticsParams,
) -> Result<v2::ServerDiagnosticsResponse, Failure> {
    let loaded = i64::try_from(server.thread_ids().len()).unwrap_or(i64::MAX);
    blocking(move || {
        Ok(v2::ServerDiagnosticsResponse {
            process: v2::ServerDiagnosticsProcess {
                id: i64::from(std::process::id()),
                resident_memory_bytes: resident_bytes(),
                physical_footprint_bytes: None,
            },
            gauges: vec![v2::ServerDiagnosticsGauge {
                name: "app.threads.loaded".to_owned(),
                value: loaded,
            }],
        })
    })
    .await
}

/// None if the system does not report it; Linux does.
fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Does nothing: other programs read rollouts too.
pub(super) async fn compress(
    _: RequestContext,
    _: NoParams,
) -> Result<v2::RolloutCompressResponse, Failure> {
    Ok(v2::RolloutCompressResponse {})
}

pub(super) async fn environment_info(
    RequestContext { server, .. }: RequestContext,
    params: v2::EnvironmentInfoParams,
) -> Result<v2::EnvironmentInfoResponse, Failure> {
    if params.environment_id != LOCAL_ENVIRONMENT {
        return Err(unknown_environment(&params.environment_id));
    }
    let shell = server.host().shell();
    let name = shell.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".exe").unwrap_or(&name).to_owned();
    let path = shell.display().to_string();
    let cwd = Url::from_file_path(server.host().working_folder());
    Ok(v2::EnvironmentInfoResponse {
        shell: v2::EnvironmentShellInfo { name, path },
        cwd: cwd.ok().map(String::from),
    })
}

pub(super) async fn environment_status(
    _: RequestContext,
    params: v2::EnvironmentStatusParams,
) -> Result<v2::EnvironmentStatusResponse, Failure> {
    let id = params.environment_id;
    Ok(if id == LOCAL_ENVIRONMENT {
        v2::EnvironmentStatusResponse {
            status: v2::EnvironmentStatusKind::Ready,
            error: None,
        }
    } else {
        v2::EnvironmentStatusResponse {
            status: v2::EnvironmentStatusKind::Unknown,
            error: Some(format!("unknown environment id `{id}`")),
        }
    })
}

/// Only the local environment is supported.
pub(super) async fn add_environment(
    _: RequestContext,
    params: v2::EnvironmentAddParams,
) -> Failure {
    match params.environment_id.as_str() {
        LOCAL_ENVIRONMENT => Failure::invalid("environment id `local` is reserved"),
        _ => Failure::invalid("remote environments are not supported by this version"),
    }
}

fn unknown_environment(id: &str) -> Failure {
    Failure::invalid(format!("unknown environment id `{id}`"))
}
