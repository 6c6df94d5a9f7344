//! Observes the threads of a replay: which recorded events have come about.

use std::sync::Arc;

use codex_core::{Observer, Observers, SessionInput, StartingThread, TakenInput};
use codex_protocol::{Event, EventMsg, ResponseItem, ThreadId};

use crate::state::ReplayState;

#[derive(Debug)]
pub(crate) struct ReplayObservers(pub(crate) Arc<ReplayState>);

impl Observers for ReplayObservers {
    fn observe(&self, thread: &StartingThread<'_>) -> Option<Arc<dyn Observer>> {
        Some(Arc::new(ReplayObserver {
            thread: thread.thread.clone(),
            state: Arc::clone(&self.0),
        }))
    }
}

#[derive(Debug)]
struct ReplayObserver {
    thread: ThreadId,
    state: Arc<ReplayState>,
}

impl Observer for ReplayObserver {
    fn input(&self, _input: &SessionInput) {
        self.state.input_observed(self.thread.as_str());
    }

    fn inputs_taken(&self, _inputs: &[TakenInput]) {
        self.state.inputs_taken(self.thread.as_str());
    }

    fn notice_taken_while_idle(&self) {
        self.state.inputs_taken(self.thread.as_str());
    }

    fn tool_ended(&self, _turn: &str, output: &ResponseItem, _error: Option<&str>) {
        let id = match output {
            ResponseItem::FunctionCallOutput { call_id, .. }
            | ResponseItem::CustomToolCallOutput { call_id, .. } => Some(call_id),
            ResponseItem::ToolSearchOutput { call_id, .. } => call_id.as_ref(),
            _ => None,
        };
        if let Some(id) = id {
            self.state.tool_ended(self.thread.as_str(), id);
        }
    }

    fn event(&self, event: &Event) {
        if let EventMsg::TurnComplete(ended) = &event.msg
            && self.state.continued.model().is_some()
        {
            self.state.continued.end(ended.last_agent_message.clone());
            return;
        }
        if matches!(
            event.msg,
            EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_)
        ) {
            self.state.turn_ended(self.thread.as_str());
        }
    }

    fn tool_dispatched(&self, _turn: &str, call: &ResponseItem) {
        let id = match call {
            ResponseItem::FunctionCall { call_id, .. }
            | ResponseItem::CustomToolCall { call_id, .. } => Some(call_id),
            ResponseItem::LocalShellCall { call_id, id, .. } => call_id.as_ref().or(id.as_ref()),
            ResponseItem::ToolSearchCall { call_id, .. } => call_id.as_ref(),
            _ => None,
        };
        if let Some(id) = id {
            self.state.tool_started(self.thread.as_str(), id);
        }
    }
}
