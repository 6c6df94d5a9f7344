//! Which objects of a graph changed, for readers that follow a bundle.

use std::collections::BTreeSet;

use crate::format::PayloadRef;
use crate::ids::{
    CodeCellId, CompactionRequestId, EdgeId, InferenceId, ItemId, OperationId, PayloadId,
    TerminalId, ThreadId, ToolCallId, TurnId,
};

use super::reducer::Reducer;

/// The objects that changed since the last time, and the protocol events that came.
#[derive(Debug, Default)]
pub struct Changes {
    pub threads: BTreeSet<ThreadId>,
    pub turns: BTreeSet<TurnId>,
    pub items: BTreeSet<ItemId>,
    pub inferences: BTreeSet<InferenceId>,
    pub cells: BTreeSet<CodeCellId>,
    pub tools: BTreeSet<ToolCallId>,
    pub terminals: BTreeSet<TerminalId>,
    pub operations: BTreeSet<OperationId>,
    pub compactions: BTreeSet<CompactionRequestId>,
    pub edges: BTreeSet<EdgeId>,
    pub payloads: BTreeSet<PayloadId>,
    pub events: Vec<ProtocolEvent>,
}

/// An event of the engine that the graph does not contain.
#[derive(Debug)]
pub struct ProtocolEvent {
    pub at_unix_ms: i64,
    pub event_type: String,
    pub payload: PayloadRef,
}

impl Reducer {
    /// Notes changes from now on.
    pub(crate) fn track(&mut self) {
        self.protocol_events.get_or_insert_default();
        self.conversation.track();
        self.edges.track();
        let trace = &mut self.trace;
        trace.threads.track();
        trace.codex_turns.track();
        trace.inference_calls.track();
        trace.code_cells.track();
        trace.tool_calls.track();
        trace.terminal_sessions.track();
        trace.terminal_operations.track();
        trace.compaction_requests.track();
        trace.raw_payloads.track();
    }

    pub(crate) fn take_changes(&mut self) -> Changes {
        let conversation = self.conversation.take_changed();
        let trace = &mut self.trace;
        let mut threads = trace.threads.take_changed();
        let numbers = conversation.threads.into_iter();
        threads.extend(numbers.filter_map(|number| self.conversation.thread_id(number).cloned()));
        let events = self.protocol_events.as_mut();
        Changes {
            threads,
            turns: trace.codex_turns.take_changed(),
            items: conversation.items,
            inferences: trace.inference_calls.take_changed(),
            cells: trace.code_cells.take_changed(),
            tools: trace.tool_calls.take_changed(),
            terminals: trace.terminal_sessions.take_changed(),
            operations: trace.terminal_operations.take_changed(),
            compactions: trace.compaction_requests.take_changed(),
            edges: self.edges.take_changed(),
            payloads: trace.raw_payloads.take_changed(),
            events: events.map(std::mem::take).unwrap_or_default(),
        }
    }
}
