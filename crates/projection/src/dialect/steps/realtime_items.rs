//! What a realtime conversation says: items and deltas, or for clients of 0.117 texts alone. These also hear of responses.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::ThreadRealtimeTranscriptUpdatedNotification;

use crate::dialect::rows::Dialect;
use crate::{Change, Moment};

/// The raw items that are about responses.
const RESPONSES: [&str; 2] = ["response.created", "response.done"];

pub(super) fn is_sent(dialect: Dialect, change: &Change) -> bool {
    match &change.notification {
        ServerNotification::ThreadRealtimeItemStarted(_)
        | ServerNotification::ThreadRealtimeItemCompleted(_)
        | ServerNotification::ThreadRealtimeItemTranscriptDelta(_)
        | ServerNotification::ThreadRealtimeTranscriptDone(_) => dialect.has_realtime_items(),
        ServerNotification::ThreadRealtimeItemAdded(added) => {
            let kind = added.item["type"].as_str().unwrap_or_default();
            !RESPONSES.contains(&kind) || !dialect.has_realtime_items()
        }
        _ => true,
    }
}

pub(super) fn older(
    dialect: Dialect,
    notification: &ServerNotification,
    _: &Moment,
) -> Option<ServerNotification> {
    let ServerNotification::ThreadRealtimeTranscriptDelta(said) = notification else {
        return None;
    };
    if dialect.has_realtime_items() {
        return None;
    }
    let older = ThreadRealtimeTranscriptUpdatedNotification {
        thread_id: said.thread_id.clone(),
        role: said.role.clone(),
        text: said.delta.clone(),
    };
    Some(ServerNotification::ThreadRealtimeTranscriptUpdated(older))
}
