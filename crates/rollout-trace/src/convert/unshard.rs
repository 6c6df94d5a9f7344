//! From schema 3 to what schema 2 has, and from schema 2 to schema 3.

use std::collections::BTreeMap;

use super::ConvertedEvent;
use crate::format::{Event, LogLine, Schema};

/// Takes out of a line what only schema 3 has. Returns whether anything is left.
pub(super) fn line_of_two(
    line: &mut LogLine,
    left_out: &mut BTreeMap<&'static str, u64>,
) -> ConvertedEvent {
    line.schema_version = Schema::Two.number();
    let mut leave_out = |what| *left_out.entry(what).or_default() += 1;
    match &mut line.payload {
        Event::CodeCellWaitTargetResolved { .. } => {
            leave_out("which cell a call waited for");
            return ConvertedEvent::default();
        }
        Event::InferenceStarted {
            prepared_prompt_payload,
            warmup_context_payload,
            ..
        } => {
            *prepared_prompt_payload = None;
            if warmup_context_payload.take().is_some() {
                leave_out("what a connection was told before its first request");
            }
        }
        Event::HistoryItemAccepted {
            tool_output_payload: output @ Some(_),
            ..
        } => {
            *output = None;
            leave_out("outputs of tools beside their acceptance");
        }
        _ => {}
    }
    ConvertedEvent {
        is_kept: true,
        ..ConvertedEvent::default()
    }
}

/// A line of schema 2 as one of schema 3.
pub(super) fn line_of_three(line: &mut LogLine) -> ConvertedEvent {
    line.schema_version = Schema::Three.number();
    ConvertedEvent {
        is_kept: true,
        ..ConvertedEvent::default()
    }
}
