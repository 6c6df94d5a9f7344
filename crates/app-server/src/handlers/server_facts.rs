//! `server/diagnostics`, `rollout/compress`: facts about the server and about what it does not have.

use codex_app_server_protocol::v2::ThreadStatus;
use codex_app_server_protocol::{NoParams, v2};
use codex_protocol::ThreadId;
use futures::future::join_all;

use super::call::RequestContext;
use super::stored::status_of;
use super::{blocking, thread_id};
use crate::failure::Failure;

pub(super) async fn diagnostics(
    RequestContext { server, .. }: RequestContext,
    _: v2::ServerDiagnosticsParams,
) -> Result<v2::ServerDiagnosticsResponse, Failure> {
    let loaded = server.thread_ids();
    let (running, waiting) = (server.running_requests(), server.waiting_requests());
    let ids: Vec<ThreadId> = loaded.iter().filter_map(|id| thread_id(id).ok()).collect();
    let statuses = join_all(ids.iter().map(|id| status_of(&server, id))).await;
    let is_active = |status: &&ThreadStatus| matches!(status, ThreadStatus::Active { .. });
    let active = statuses.iter().filter(is_active).count();
    blocking(move || {
        Ok(v2::ServerDiagnosticsResponse {
            process: v2::ServerDiagnosticsProcess {
                id: i64::from(std::process::id()),
                resident_memory_bytes: resident_bytes(),
                physical_footprint_bytes: None,
            },
            gauges: vec![
                gauge("app.requests.in_flight", running),
                gauge("app.requests.queued", waiting),
                gauge("core.threads.live", loaded.len()),
                gauge("core.turns.active", active),
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
