//! Renews the tokens of a ChatGPT login. Only one process and one task renews at a time.

use codex_model_client::{CredentialError, Secret};
use serde_json::{Value, json};

use crate::accounts::Accounts;
use crate::auth_file::{AuthFile, ChatGptTokens};
use crate::jwt::TokenClaims;
use crate::refused::{SIGNED_OUT, is_reused, refresh_error};

impl Accounts {
    /// Discards the cached login if the store still contains the same account.
    pub(crate) fn reload_same_account(
        &self,
        tokens: &ChatGptTokens,
    ) -> Result<(), CredentialError> {
        self.stored_for(tokens)?;
        self.reload();
        Ok(())
    }

    /// Renews tokens. If another process has already done so, its tokens are used.
    pub(crate) async fn renew_managed(&self, stale: &ChatGptTokens) -> Result<(), CredentialError> {
        let _turn = self.renewing.lock().await;
        let _lock = self.store.lock().await;
        let (mut file, stored) = self.stored_for(stale)?;
        if stored != *stale {
            self.reload();
            return Ok(());
        }
        if let Some(why) = self.remembered_refusal(&stored.refresh_token) {
            return Err(CredentialError::Refused(why));
        }
        let renewed = match self.request_tokens(&stored).await {
            Ok(reply) => reply,
            Err(RefreshFailure { error, reused }) => {
                // A process that does not take the lock may have renewed them.
                if reused && self.stored_for(stale)?.1 != *stale {
                    self.reload();
                    return Ok(());
                }
                if let CredentialError::Refused(why) = &error {
                    self.remember_refusal(&stored.refresh_token, why);
                }
                return Err(error);
            }
        };
        file.tokens = Some(renewed);
        file.last_refresh = Some(self.now());
        let saved = self.save(&file);
        saved.map_err(|error| failed(format!("renewed tokens could not be saved: {error}")))
    }

    /// The stored login, if it is of the same account.
    fn stored_for(
        &self,
        tokens: &ChatGptTokens,
    ) -> Result<(AuthFile, ChatGptTokens), CredentialError> {
        let file = self
            .store
            .load()
            .map_err(|error| failed(error.to_string()))?;
        let signed_out = || CredentialError::Refused(SIGNED_OUT.to_owned());
        let file = file.ok_or_else(signed_out)?;
        let stored = file.tokens.clone().ok_or_else(signed_out)?;
        if stored.account_id.is_none() || stored.account_id != tokens.account_id {
            return Err(signed_out());
        }
        Ok((file, stored))
    }

    async fn request_tokens(
        &self,
        tokens: &ChatGptTokens,
    ) -> Result<ChatGptTokens, RefreshFailure> {
        let body = json!({
            "client_id": self.settings.client_id,
            "grant_type": "refresh_token",
            "refresh_token": tokens.refresh_token.reveal(),
        });
        let url = self.settings.refresh_url();
        let answer = self.http.post_json(&url, &body).await;
        let answer = answer
            .map_err(|error| RefreshFailure::passing(format!("Failed to refresh token: {error}")))?
            .without(&[tokens.refresh_token.reveal()]);
        if !answer.is_success() {
            return Err(RefreshFailure {
                error: refresh_error(answer.status, &answer.reason, &answer.body),
                reused: is_reused(&answer.body),
            });
        }
        let reply = answer.json();
        if !reply.is_object() {
            return Err(RefreshFailure::passing(
                "Failed to refresh token: the reply is no JSON".to_owned(),
            ));
        }
        let renewed = |name: &str, old: &Secret| match &reply[name] {
            Value::String(text) if !text.is_empty() => text.as_str().into(),
            _ => old.clone(),
        };
        let id_token = renewed("id_token", &tokens.id_token);
        if TokenClaims::from_token(id_token.reveal()).is_err() {
            let text = "Failed to refresh token: the reply has an unreadable ID token";
            return Err(RefreshFailure::passing(text.to_owned()));
        }
        Ok(ChatGptTokens {
            access_token: renewed("access_token", &tokens.access_token),
            refresh_token: renewed("refresh_token", &tokens.refresh_token),
            account_id: tokens.account_id.clone(),
            id_token,
        })
    }
}

struct RefreshFailure {
    error: CredentialError,
    /// Whether the server reports that the refresh token was already used.
    reused: bool,
}

impl RefreshFailure {
    /// A failure after which another attempt may succeed.
    fn passing(text: String) -> Self {
        Self {
            error: failed(text),
            reused: false,
        }
    }
}

fn failed(text: String) -> CredentialError {
    CredentialError::Failed(text)
}
