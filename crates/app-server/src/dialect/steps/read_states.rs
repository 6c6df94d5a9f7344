//! `thread/readState/changed`.

use codex_app_server_protocol::ServerNotification;

use crate::dialect::rows::Dialect;
use crate::projection::Change;

pub(super) fn is_told(dialect: Dialect, change: &Change) -> bool {
    let is_read_state = matches!(
        change.notification,
        ServerNotification::ThreadReadStateChanged(_)
    );
    !is_read_state || dialect.has_read_states()
}
