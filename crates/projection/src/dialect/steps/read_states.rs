//! `thread/readState/changed`.

use codex_app_server_protocol::ServerNotification;

use crate::Change;
use crate::dialect::rows::Dialect;

pub(super) fn is_sent(dialect: Dialect, change: &Change) -> bool {
    let is_read_state = matches!(
        change.notification,
        ServerNotification::ThreadReadStateChanged(_)
    );
    !is_read_state || dialect.has_read_states()
}
