//! Noting which objects of a graph change.

use super::changes::Changes;
use super::reducer::Reducer;

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
