//! The kind of login, also in `account/updated`.

use codex_app_server_protocol::ServerNotification;
use codex_protocol::AuthMode;

use crate::Moment;
use crate::dialect::rows::Dialect;

impl Dialect {
    /// A kind of login by a name that clients know.
    pub fn auth_mode(self, mode: AuthMode) -> AuthMode {
        match mode {
            AuthMode::PersonalAccessToken if !self.has_personal_access_tokens() => {
                AuthMode::Chatgpt
            }
            mode => mode,
        }
    }
}

pub(super) fn older(
    dialect: Dialect,
    notification: &ServerNotification,
    _: &Moment,
) -> Option<ServerNotification> {
    let ServerNotification::AccountUpdated(updated) = notification else {
        return None;
    };
    let mode = updated.auth_mode.map(|mode| dialect.auth_mode(mode));
    if mode == updated.auth_mode {
        return None;
    }
    let mut older = updated.clone();
    older.auth_mode = mode;
    Some(ServerNotification::AccountUpdated(older))
}
