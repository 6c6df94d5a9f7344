//! What the end of a session, or of a turn, brought about by itself. A replay neither waits for it nor plays it.

use codex_core::SessionInput;
use codex_protocol::Op;
use codex_rollout_trace::Recording;
use codex_rollout_trace::format::{Event, GAP_EVENT, LogLine, PayloadRef};
use codex_session_trace::STOPPED_CALL;
use serde_json::Value;

/// The number of the last event that is more than an end of what had begun.
pub(crate) fn last_cause(events: &[LogLine]) -> u64 {
    let causes = events.iter().rev().filter(|line| !is_ending(&line.payload));
    causes.map(|line| line.seq).next().unwrap_or_default()
}

fn is_ending(event: &Event) -> bool {
    match event {
        Event::CodexTurnEnded { .. }
        | Event::ToolCallRuntimeEnded { .. }
        | Event::ToolCallEnded { .. }
        | Event::InferenceCancelled { .. }
        | Event::ThreadEnded { .. }
        | Event::RolloutEnded { .. }
        | Event::RecordingCompleted => true,
        Event::ProtocolEventObserved { event_type, .. } => {
            ["turn_aborted", "shutdown_complete"].contains(&event_type.as_str())
        }
        _ => false,
    }
}

/// The events before the first ones that were lost. What came after them cannot be compared.
pub(crate) fn before_gap(events: &[LogLine]) -> &[LogLine] {
    let is_gap = |line: &LogLine| {
        let Event::ProtocolEventObserved { event_type, .. } = &line.payload else {
            return false;
        };
        event_type == GAP_EVENT
    };
    let gap = events.iter().position(is_gap);
    &events[..gap.unwrap_or(events.len())]
}

/// Whether the session may have gone on after the last of these events: it was killed, or events were lost.
pub(crate) fn is_cut(events: &[LogLine]) -> bool {
    !events
        .iter()
        .any(|line| matches!(line.payload, Event::RolloutEnded { .. }))
}

pub(crate) fn is_interrupt(input: &SessionInput) -> bool {
    let SessionInput::Submission(submission) = input else {
        return false;
    };
    matches!(submission.op, Op::Interrupt)
}

/// Whether a call has this result because its turn was stopped: the model did not get it.
pub(crate) fn is_stopped_call(recording: &Recording, result: Option<&PayloadRef>) -> bool {
    let result = result.and_then(|result| recording.json::<Value>(result).ok());
    result.is_some_and(|result| result["type"] == "error" && result["error"] == STOPPED_CALL)
}
