//! The notification that the queue of a thread changed.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::ThreadQueueChangedNotification;
use codex_protocol::ThreadId;

pub(crate) fn queue_changed(id: &ThreadId) -> ServerNotification {
    let thread_id = id.to_string();
    ServerNotification::ThreadQueueChanged(ThreadQueueChangedNotification { thread_id })
}
