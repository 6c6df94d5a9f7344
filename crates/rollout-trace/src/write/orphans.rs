//! Events that must not be written because the start of what they are about was lost.
//!
//! A reader rejects the end of a thing that never began. So a lost start takes along all that would refer to it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::format::{Event, LogLine, Requester};

/// So many lost starts, and nothing more is written.
const MAX_ORPHANED: usize = 10_000;

/// What began in an event that was lost.
#[derive(Default)]
pub(super) struct Orphans {
    any: AtomicBool,
    lost: Mutex<HashSet<String>>,
}

impl Orphans {
    /// Notes that an event was lost.
    pub(super) fn lose(&self, line: &LogLine) {
        if let Some(name) = begun(line) {
            let mut lost = self.lost.lock();
            if lost.len() < MAX_ORPHANED {
                lost.insert(name);
            }
            self.any.store(true, Ordering::Release);
        }
    }

    /// Whether an event refers to something that was lost.
    pub(super) fn covers(&self, line: &LogLine) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let lost = self.lost.lock();
        lost.len() >= MAX_ORPHANED || needed(line).any(|name| lost.contains(&name))
    }
}

fn cell(line: &LogLine, runtime: &impl std::fmt::Display) -> String {
    let thread = line.thread_id.as_ref().map_or("", |thread| thread.as_str());
    format!("cell {thread} {runtime}")
}

/// The name of what an event begins.
fn begun(line: &LogLine) -> Option<String> {
    match &line.payload {
        Event::ThreadStarted { thread_id, .. } => Some(format!("thread {thread_id}")),
        Event::CodexTurnStarted { codex_turn_id, .. } => Some(format!("turn {codex_turn_id}")),
        Event::InferenceStarted {
            inference_call_id, ..
        } => Some(format!("inference {inference_call_id}")),
        Event::ToolCallStarted { tool_call_id, .. } => Some(format!("tool {tool_call_id}")),
        Event::CodeCellStarted {
            runtime_cell_id, ..
        } => Some(cell(line, runtime_cell_id)),
        Event::CompactionRequestStarted {
            compaction_request_id,
            ..
        } => Some(format!("compaction {compaction_request_id}")),
        _ => None,
    }
}

/// The names of what an event takes for begun.
fn needed(line: &LogLine) -> impl Iterator<Item = String> {
    let about = match &line.payload {
        Event::ThreadEnded { thread_id, .. } => Some(format!("thread {thread_id}")),
        Event::InferenceCompleted {
            inference_call_id, ..
        }
        | Event::InferenceFailed {
            inference_call_id, ..
        }
        | Event::InferenceCancelled {
            inference_call_id, ..
        } => Some(format!("inference {inference_call_id}")),
        Event::McpToolCallCorrelationAssigned { tool_call_id, .. }
        | Event::ToolCallRuntimeStarted { tool_call_id, .. }
        | Event::ToolCallRuntimeEnded { tool_call_id, .. }
        | Event::ToolCallEnded { tool_call_id, .. } => Some(format!("tool {tool_call_id}")),
        Event::ToolCallStarted {
            requester: Requester::CodeCell { runtime_cell_id },
            ..
        }
        | Event::CodeCellInitialResponse {
            runtime_cell_id, ..
        }
        | Event::CodeCellEnded {
            runtime_cell_id, ..
        } => Some(cell(line, runtime_cell_id)),
        Event::CompactionRequestCompleted {
            compaction_request_id,
            ..
        }
        | Event::CompactionRequestFailed {
            compaction_request_id,
            ..
        } => Some(format!("compaction {compaction_request_id}")),
        _ => None,
    };
    let thread = line.thread_id.as_ref().map(|id| format!("thread {id}"));
    let turn = line.codex_turn_id.as_ref().map(|id| format!("turn {id}"));
    let own = begun(line);
    [thread, turn, about]
        .into_iter()
        .flatten()
        .filter(move |name| own.as_ref() != Some(name))
}
