//! Whom a personal access token belongs to, as far as that is known.

use std::time::{Duration, Instant};

use codex_model_client::Secret;
use serde::Deserialize;

/// How these tokens begin. Other values of `CODEX_ACCESS_TOKEN` are of kinds that are not used here.
pub(crate) const PREFIX: &str = "at-";

/// How long the service is not asked again after it gave no answer.
const RETRY_DELAY: Duration = Duration::from_secs(10);

/// Whom a token belongs to, as the service says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct TokenOwner {
    pub(crate) email: Option<String>,
    #[serde(rename = "chatgpt_user_id")]
    pub(crate) user_id: String,
    #[serde(rename = "chatgpt_account_id")]
    pub(crate) account_id: String,
    #[serde(rename = "chatgpt_plan_type")]
    pub(crate) plan: String,
    /// Whether requests go to the service's servers for government.
    #[serde(rename = "chatgpt_account_is_fedramp")]
    pub(crate) is_fedramp: bool,
}

/// What is known of the token that was asked for last.
#[derive(Clone, Debug)]
pub(crate) struct KnownToken {
    token: Secret,
    owner: Result<TokenOwner, OwnerUnknown>,
    at: Instant,
}

/// Why the owner of a token is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OwnerUnknown {
    /// The service does not take the token. It is not asked again.
    #[error("the service refused the personal access token ({0})")]
    Refused(u16),
    #[error("the owner of the personal access token is not known: {0}")]
    NoAnswer(String),
}

impl KnownToken {
    /// The owner of a token, if this is the token.
    pub(crate) fn owner(&self, token: &Secret) -> Option<&TokenOwner> {
        let owner = self.owner.as_ref().ok()?;
        (self.token == *token).then_some(owner)
    }

    /// Why there is no login with a token.
    pub(crate) fn problem(&self, token: &Secret) -> Option<String> {
        let why = self.owner.as_ref().err()?;
        (self.token == *token).then(|| why.to_string())
    }

    pub(crate) fn new(token: Secret, owner: Result<TokenOwner, OwnerUnknown>) -> Self {
        let at = Instant::now();
        Self { token, owner, at }
    }

    /// Whether another request for a token would tell nothing more.
    pub(crate) fn is_enough_for(&self, token: &Secret) -> bool {
        let is_open = matches!(self.owner, Err(OwnerUnknown::NoAnswer(_)));
        self.token == *token && (!is_open || self.at.elapsed() < RETRY_DELAY)
    }
}

/// Whether a token is a personal access token.
pub(crate) fn is_personal(token: &str) -> bool {
    token.len() > PREFIX.len() && token.starts_with(PREFIX) && token.is_ascii()
}
