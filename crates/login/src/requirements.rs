//! The administrator's requirements of a business account: requested from the backend and cached.
//!
//! If the requirements are not known, that is an error: an account must not be used without its restrictions.

use std::time::{Duration, Instant};

use codex_model_client::{Credential, CredentialError, CredentialSource, Recovery};
use codex_protocol::PlanType;
use serde::Deserialize;

use crate::account_state::CachedRequirements;
use crate::accounts::Accounts;
use crate::backend::backend_url;

/// The time limit for all attempts, their number, and the delay after the first.
const TIME_LIMIT: Duration = Duration::from_secs(15);
const ATTEMPTS: u32 = 5;
const RETRY_DELAY: Duration = Duration::from_millis(200);
/// How long requirements are cached.
const CACHE_TIME: Duration = Duration::from_secs(30 * 60);

/// Why the requirements of an account are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountRequirementsError {
    /// The login was refused.
    #[error("{text}")]
    Auth {
        /// What to do about it.
        text: String,
        /// The HTTP status of the refusal; none without a login.
        status: Option<u16>,
    },
    /// The backend did not reply in time.
    #[error("failed to load your workspace-managed config")]
    Timeout,
    /// The reply cannot be read.
    #[error("failed to load your workspace-managed config")]
    Parse,
    /// The request failed.
    #[error("failed to load your workspace-managed config")]
    RequestFailed {
        /// The HTTP status, if there was a reply.
        status: Option<u16>,
    },
}

#[derive(Deserialize)]
struct RequirementsReply {
    contents: Option<String>,
}

impl Accounts {
    /// The requirements of the account as text in the format of `requirements.toml`, or `None` for accounts without
    /// any. Requests them from the backend if the cache is too old.
    ///
    /// # Errors
    /// The account may have requirements, but they are not known.
    pub async fn requirements(&self) -> Result<Option<String>, AccountRequirementsError> {
        let is_limited = |plan| matches!(plan, PlanType::Business | PlanType::Enterprise);
        self.identify().await;
        let Some(login) = self
            .login()
            .filter(|login| login.plan().is_some_and(is_limited))
        else {
            return Ok(None);
        };
        let Credential::ChatGpt { account_id, .. } = login.credential() else {
            return Ok(None);
        };
        let account = account_id.unwrap_or_default();
        // Only one task sends the request; others wait for its result.
        let mut kept = self.requirements.lock().await;
        if let Some(kept) = &*kept
            && kept.account == account
            && kept.at.elapsed() < CACHE_TIME
        {
            return Ok(kept.text.clone());
        }
        let asked = tokio::time::timeout(TIME_LIMIT, self.request_requirements()).await;
        let text = asked.unwrap_or(Err(AccountRequirementsError::Timeout))?;
        *kept = Some(CachedRequirements {
            account,
            at: Instant::now(),
            text: text.clone(),
        });
        Ok(text)
    }

    async fn request_requirements(&self) -> Result<Option<String>, AccountRequirementsError> {
        let mut recoveries = 0;
        let mut failure = AccountRequirementsError::RequestFailed { status: None };
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                self.clock.sleep(RETRY_DELAY * 2_u32.pow(attempt - 1)).await;
            }
            match self.attempt_requirements(&mut recoveries).await {
                Err(error @ AccountRequirementsError::RequestFailed { .. }) => failure = error,
                done => return done,
            }
        }
        Err(failure)
    }

    /// Sends one request, and another after each successful recovery from a refused login.
    async fn attempt_requirements(
        &self,
        recoveries: &mut u32,
    ) -> Result<Option<String>, AccountRequirementsError> {
        let url = backend_url(&self.settings.backend_url, "config/requirements");
        let relogin = |status| AccountRequirementsError::Auth {
            text: "Your login is not accepted any more. Please log in again.".to_owned(),
            status,
        };
        loop {
            let credential = self.current().await;
            let Some(credential @ Credential::ChatGpt { access_token, .. }) = &credential else {
                return Err(relogin(None));
            };
            let bearer = format!("Bearer {}", access_token.reveal());
            let mut headers = vec![("authorization", bearer.as_str())];
            headers.extend(credential.account_headers());
            let answer = self.http.get(&url, &headers).await.map_err(|error| {
                tracing::warn!(error, "the limits of the account cannot be asked for");
                AccountRequirementsError::RequestFailed { status: None }
            })?;
            match answer.status {
                200..300 => {
                    let reply: Result<RequirementsReply, _> = serde_json::from_slice(&answer.body);
                    let reply = reply.map_err(|_| AccountRequirementsError::Parse)?;
                    return Ok(reply.contents.filter(|text| !text.trim().is_empty()));
                }
                status @ 401 => match self.recover(*recoveries).await {
                    Ok(Recovery::Retry) => *recoveries += 1,
                    Ok(Recovery::Exhausted) => return Err(relogin(Some(status))),
                    Err(CredentialError::Refused(text) | CredentialError::Failed(text)) => {
                        let status = Some(status);
                        return Err(AccountRequirementsError::Auth { text, status });
                    }
                },
                status => {
                    let status = Some(status);
                    return Err(AccountRequirementsError::RequestFailed { status });
                }
            }
        }
    }
}
