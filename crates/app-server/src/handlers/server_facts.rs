//! `server/diagnostics`, `rollout/compress`: facts about the server and about what it does not have.

use codex_app_server_protocol::{NoParams, v2};

use super::blocking;
use super::call::RequestContext;
use crate::failure::Failure;

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
