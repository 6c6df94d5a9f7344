//! The older spelling of streamed text, for readers of v1.
//!
//! The engine says every delta once. Whoever serves clients that know the older events only puts
//! these behind the newer ones.

use codex_protocol::{DeltaEvent, Event, EventMsg};

/// The older twin of a delta.
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
