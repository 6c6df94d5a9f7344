//! Personal access tokens: made by a person on the service's pages, and never renewed.
//!
//! A token says nothing about its owner, who decides which restrictions hold. Until the service has named the owner, such a
//! token is no login.

use std::time::Duration;

use codex_model_client::Secret;

use crate::accounts::{Accounts, LoginError};
use crate::auth_file::AuthFile;
use crate::login::Login;
use crate::token_owner::{KnownToken, OwnerUnknown, PREFIX, TokenOwner, is_personal};

/// How long the service may take to name an owner.
const TIME_LIMIT: Duration = Duration::from_secs(10);

impl Accounts {
    /// Asks the service whom the personal access token in use belongs to, unless there is none or that is known.
    pub async fn identify(&self) {
        if self.unknown_token().is_none() {
            return;
        }
        let _turn = self.renewing.lock().await;
        // Another task may have asked meanwhile.
        let Some(token) = self.unknown_token() else {
            return;
        };
        let owner = self.ask_owner(&token).await;
        if let Err(error) = &owner {
            tracing::warn!(%error, "nobody is logged in");
        }
        self.know_token(KnownToken::new(token, owner));
    }

    /// Logs in with a personal access token and stores it, if the service knows it.
    ///
    /// # Errors
    /// The token is no such token, refused or not allowed, or cannot be stored.
    pub async fn log_in_with_access_token(&self, token: &str) -> Result<(), LoginError> {
        self.refuse_without_restrictions()?;
        self.refuse_beside_external()?;
        let token = token.trim();
        if !is_personal(token) {
            let text = format!("a personal access token begins with `{PREFIX}`");
            return Err(LoginError::Refused(text));
        }
        let token = Secret::from(token);
        let owner = self.ask_owner(&token).await;
        let owner = owner.map_err(|error| LoginError::Failed(error.to_string()))?;
        let login = Login::personal(token.clone(), owner.clone());
        if !login.is_allowed(&self.settings) {
            let text = "This login is not allowed here: an administrator limits the way of logging in or the workspace.";
            return Err(LoginError::Refused(text.to_owned()));
        }
        self.cancel_pending();
        let saved = self.save(&AuthFile::with_personal_token(token.clone()));
        saved.map_err(|error| LoginError::Failed(format!("failed to save the token: {error}")))?;
        self.know_token(KnownToken::new(token, Ok(owner)));
        Ok(())
    }

    /// The personal access token in use, if asking for its owner may tell something new.
    fn unknown_token(&self) -> Option<Secret> {
        let token = self.token_in_use()?;
        if !is_personal(token.reveal()) {
            return None;
        }
        (!self.is_known(|known| known.is_enough_for(&token))).then_some(token)
    }

    async fn ask_owner(&self, token: &Secret) -> Result<TokenOwner, OwnerUnknown> {
        let base = self.settings.account_api_url.trim_end_matches('/');
        let url = format!("{base}/v1/user-auth-credential/whoami");
        let bearer = format!("Bearer {}", token.reveal());
        let headers = [("authorization", bearer.as_str())];
        let asking = tokio::time::timeout(TIME_LIMIT, self.http.get(&url, &headers));
        let no_answer = || OwnerUnknown::NoAnswer("the service does not answer".to_owned());
        let answer = asking.await.map_err(|_| no_answer())?;
        let answer = answer.map_err(OwnerUnknown::NoAnswer)?;
        match answer.status {
            200..300 => serde_json::from_slice(&answer.body)
                .map_err(|_| OwnerUnknown::NoAnswer("the reply cannot be read".to_owned())),
            status @ (401 | 403) => Err(OwnerUnknown::Refused(status)),
            status => {
                let text = format!("{status} {}", answer.reason);
                Err(OwnerUnknown::NoAnswer(text.trim().to_owned()))
            }
        }
    }
}
