//! Records tool calls that concern agents.

use codex_protocol::{EventMsg, SubAgentActivityKind};
use codex_rollout_trace::format::{ExecutionStatus, ToolKind};
use serde::Serialize;
use serde_json::Value;

use crate::clock::now_unix_ms;

/// The start or the end of such a call.
pub(crate) struct AgentCall {
    pub(crate) id: String,
    pub(crate) kind: ToolKind,
    /// The status at the end; `None` at the start.
    pub(crate) ended: Option<ExecutionStatus>,
    /// The event, with its time.
    pub(crate) payload: Value,
    /// Whether an end follows a start.
    pub(crate) has_begun: bool,
}

impl AgentCall {
    pub(crate) fn from_event(msg: &EventMsg) -> Option<Self> {
        let call = |id: &str, tool: &str, ended, event: &dyn Fn() -> Value| {
            let mut payload = event();
            let when = match ended {
                Some(_) => "completed_at_ms",
                None => "started_at_ms",
            };
            payload[when] = now_unix_ms().into();
            Some(Self {
                id: id.to_owned(),
                kind: ToolKind::of_tool(tool),
                ended,
                payload,
                has_begun: true,
            })
        };
        let done = Some(ExecutionStatus::Completed);
        match msg {
            EventMsg::CollabAgentSpawnBegin(event) => {
                call(&event.call_id, "spawn_agent", None, &|| json(event))
            }
            EventMsg::CollabAgentSpawnEnd(event) => {
                let ended = match event.new_thread_id {
                    Some(_) => done,
                    None => Some(ExecutionStatus::Failed),
                };
                call(&event.call_id, "spawn_agent", ended, &|| json(event))
            }
            EventMsg::CollabAgentInteractionBegin(event) => {
                call(&event.call_id, "send_input", None, &|| json(event))
            }
            EventMsg::CollabAgentInteractionEnd(event) => {
                call(&event.call_id, "send_input", done, &|| json(event))
            }
            EventMsg::CollabWaitingBegin(event) => {
                call(&event.call_id, "wait_agent", None, &|| json(event))
            }
            EventMsg::CollabWaitingEnd(event) => {
                call(&event.call_id, "wait_agent", done, &|| json(event))
            }
            EventMsg::CollabCloseBegin(event) => {
                call(&event.call_id, "close_agent", None, &|| json(event))
            }
            EventMsg::CollabCloseEnd(event) => {
                call(&event.call_id, "close_agent", done, &|| json(event))
            }
            EventMsg::SubAgentActivity(event) => {
                let tool = match event.kind {
                    SubAgentActivityKind::Started => "spawn_agent",
                    SubAgentActivityKind::Interacted => "send_message",
                    SubAgentActivityKind::Interrupted => "interrupt_agent",
                    // No call has caused it.
                    SubAgentActivityKind::Completed => return None,
                };
                Some(Self {
                    id: event.event_id.clone(),
                    kind: ToolKind::of_tool(tool),
                    ended: done,
                    payload: json(event),
                    has_begun: false,
                })
            }
            _ => None,
        }
    }
}

fn json(event: &impl Serialize) -> Value {
    serde_json::to_value(event).unwrap_or_default()
}
