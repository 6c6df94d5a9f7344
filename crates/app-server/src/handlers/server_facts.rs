//! `server/diagnostics`, `rollout/compress`: facts about the server and about what it does not have.

use codex_app_server_protocol::{NoParams, v2};

use super::blocking;
use super::call::RequestContext;
use crate::failure::Failure;

pub(super) async fn diagnostics(
    RequestContext { server, .. }: RequestContext,
    _: v2::ServerDiagnosticsParams,
) -> Result<v2::ServerDiagnosticsResponse, Failure> {
    let loaded = server.thread_ids().len();
    let running = server.running_requests();
    blocking(move || {
        Ok(v2::ServerDiagnosticsResponse {
            process: v2::ServerDiagnosticsProcess {
                id: i64::from(std::process::id()),
                resident_memory_bytes: resident_bytes(),
                physical_footprint_bytes: None,
            },
            gauges: vec![
                gauge("app.requests.in_flight", running),
                gauge("core.threads.live", loaded),
            ],
        })
    })
    .await
}

fn gauge(name: &str, value: usize) -> v2::ServerDiagnosticsGauge {
    v2::ServerDiagnosticsGauge {
        name: name.to_owned(),
        value: i64::try_from(value).unwrap_or(i64::MAX),
    }
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
