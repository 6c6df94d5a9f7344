//! `thread/checkpoint/created`.

use codex_app_server_protocol::ServerNotification;

use crate::Change;
use crate::dialect::rows::Dialect;

pub(super) fn is_sent(dialect: Dialect, change: &Change) -> bool {
    let is_checkpoint = matches!(
        change.notification,
        ServerNotification::ThreadCheckpointCreated(_)
    );
    !is_checkpoint || dialect.has_checkpoints()
}
