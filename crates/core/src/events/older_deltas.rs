//! The older form of text deltas, for clients of v1.
//!
//! The engine emits each delta once, in the newer form. For clients of the older form, add these.

use codex_protocol::{DeltaEvent, Event, EventMsg};

/// The older form of a delta.
#[must_use]
pub fn older_delta(event: &Event) -> Option<Event> {
    let older = |delta: &String| DeltaEvent {
        delta: delta.clone(),
    };
    let msg = match &event.msg {
        EventMsg::AgentMessageContentDelta(newer) => {
            EventMsg::AgentMessageDelta(older(&newer.delta))
        }
        EventMsg::ReasoningContentDelta(newer) => {
            EventMsg::AgentReasoningDelta(older(&newer.delta))
        }
        EventMsg::ReasoningRawContentDelta(newer) => {
            EventMsg::AgentReasoningRawContentDelta(older(&newer.delta))
        }
        _ => return None,
    };
    Some(Event {
        id: event.id.clone(),
        msg,
    })
}
