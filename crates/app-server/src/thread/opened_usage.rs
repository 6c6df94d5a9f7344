//! What a thread has used, as clients are told when they open it.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::ThreadTokenUsageUpdatedNotification;
use codex_projection::wire_usage;
use codex_protocol::TokenUsageInfo;

use crate::background_notifier::NotificationSink;
use crate::connection::Connection;

/// Sends the token usage of the last turn, if the client expects it.
pub(crate) fn show_usage(
    connection: &Connection,
    thread: &str,
    turn: Option<&str>,
    usage: Option<TokenUsageInfo>,
) {
    let is_told = connection.dialect().tells_usage_of_opened_threads();
    if let (true, Some(turn), Some(usage)) = (is_told, turn, usage) {
        let updated = ThreadTokenUsageUpdatedNotification {
            thread_id: thread.to_owned(),
            turn_id: turn.to_owned(),
            token_usage: wire_usage(&usage),
        };
        connection.notify(&ServerNotification::ThreadTokenUsageUpdated(updated));
    }
}
