//! How far a job is, for clients that show it.

use std::time::Duration;

use codex_protocol::{BackgroundEventEvent, EventMsg};
use codex_session_base::events::TurnEmitter;
use codex_thread_state::AgentJobCounts;
use serde::Serialize;

/// How often it is said.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

#[derive(Serialize)]
struct Progress<'a> {
    job_id: &'a str,
    total_items: u32,
    pending_items: u32,
    running_items: u32,
    completed_items: u32,
    failed_items: u32,
    eta_seconds: Option<u64>,
}

/// Says it after this time since the job began.
pub(super) fn emit(emitter: &TurnEmitter, job: &str, counts: AgentJobCounts, elapsed: Duration) {
    let progress = Progress {
        job_id: job,
        total_items: counts.pending + counts.running + counts.completed + counts.failed,
        pending_items: counts.pending,
        running_items: counts.running,
        completed_items: counts.completed,
        failed_items: counts.failed,
        eta_seconds: remaining(counts, elapsed),
    };
    if let Ok(progress) = serde_json::to_string(&progress) {
        emit_message(emitter, format!("agent_job_progress:{progress}"));
    }
}

pub(super) fn emit_message(emitter: &TurnEmitter, message: String) {
    emitter.emit(EventMsg::BackgroundEvent(BackgroundEventEvent { message }));
}

/// How long the other items take, if they take as long as those that have ended.
fn remaining(counts: AgentJobCounts, elapsed: Duration) -> Option<u64> {
    let open = u64::from(counts.pending + counts.running);
    let millis = u64::try_from(elapsed.as_millis()).ok()?;
    let ended = u64::from(counts.completed + counts.failed);
    let left = millis.saturating_mul(open).checked_div(ended)?;
    Some(left.div_ceil(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_time_is_extrapolated() {
        let counts = |pending, running, completed, failed| AgentJobCounts {
            pending,
            running,
            completed,
            failed,
        };
        let after = Duration::from_millis(1500);
        assert_eq!(remaining(counts(9, 0, 0, 0), after), None);
        assert_eq!(remaining(counts(7, 1, 1, 1), after), Some(6));
        assert_eq!(remaining(counts(0, 0, 2, 1), after), Some(0));
    }
}
