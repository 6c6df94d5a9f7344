//! Revokes the tokens of a deleted login at the identity server.
//!
//! Best effort: the user is logged out on this machine even if the server cannot be reached.

use std::time::Duration;

use codex_model_client::Secret;
use serde_json::json;

use crate::account_state::LoggedOut;
use crate::accounts::Accounts;
use crate::login::{Login, LoginKind};

/// The time limit of the request.
const TIME_LIMIT: Duration = Duration::from_secs(10);

impl Accounts {
    /// Revokes the tokens of a deleted login. Failures are logged.
    pub async fn revoke(&self, logged_out: LoggedOut) {
        let Some(token) = logged_out.refresh_token else {
            return;
        };
        let body = json!({
            "token": token.reveal(),
            "token_type_hint": "refresh_token",
            "client_id": self.settings.client_id,
        });
        let url = self.settings.revoke_url();
        let asked = self.http.post_json(&url, &body);
        match tokio::time::timeout(TIME_LIMIT, asked).await {
            Ok(Ok(answer)) if answer.is_success() => {}
            Ok(Ok(answer)) => {
                tracing::warn!(status = answer.status, "the tokens were not revoked");
            }
            Ok(Err(error)) => tracing::warn!(%error, "the tokens were not revoked"),
            Err(_) => tracing::warn!("the tokens were not revoked in time"),
        }
    }

    /// The stored refresh token.
    pub(crate) fn stored_refresh_token(&self) -> Option<Secret> {
        let file = self.store.load().ok()??;
        match Login::of_file(&file)?.kind {
            LoginKind::Managed { tokens, .. } => Some(tokens.refresh_token),
            _ => None,
        }
    }
}
