//! The older form of text deltas, for clients of v1.
//!
//! The engine emits each delta once, with its item. For readers of the older form, add these.

use codex_protocol::{DeltaEvent, Event, EventMsg};

/// The older form of a delta.
#[must_use]
pub fn older_delta(event: &Event) -> Option<Event> {
    let older = |delta: &String| DeltaEvent {
        delta: delta.clone(),
    };
    let msg = match &event.msg {
        EventMsg::AgentMessageContentDelta(delta) => {
            EventMsg::AgentMessageDelta(older(&delta.delta))
        }
        EventMsg::ReasoningContentDelta(delta) => {
            EventMsg::AgentReasoningDelta(older(&delta.delta))
        }
        EventMsg::ReasoningRawContentDelta(delta) => {
            EventMsg::AgentReasoningRawContentDelta(older(&delta.delta))
        }
        _ => return None,
    };
    Some(Event {
        id: event.id.clone(),
        msg,
    })
}
