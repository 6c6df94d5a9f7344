//! What a request is authorised with, and what is done when the server does not accept it.
//!
//! Logging in, storing and renewing belong to whoever implements [`CredentialSource`]; here is only
//! which of several possible tokens a request carries.

use std::fmt;

use async_trait::async_trait;

use crate::error::ModelError;
use codex_http::Environment;
use codex_http::non_blank;
use codex_protocol::Provider;
use codex_protocol::Secret;

/// The login of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// An API key.
    ApiKey(Secret),
    /// A ChatGPT login.
    ChatGpt {
        /// Its access token.
        access_token: Secret,
        /// The account that it is used with.
        account_id: Option<String>,
    },
}

/// What came of an attempt to get a login accepted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// There may be a better credential now: send the request again.
    Retry,
    /// There is nothing left to try.
    Exhausted,
}

/// Why a login could not be renewed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// It is not valid any more; a person has to log in again. Carries what to tell them.
    #[error("{0}")]
    Refused(String),
    /// It did not work this time.
    #[error("{0}")]
    Failed(String),
}

/// Where the login of a session comes from.
#[async_trait]
pub trait CredentialSource: Send + Sync + fmt::Debug {
    /// The credential to use now, renewed if it is about to expire; nothing if not logged in.
    async fn current(&self) -> Option<Credential>;

    /// Takes step number `step`, from 0, of getting a ChatGPT login accepted again that a server has
    /// refused. Asked again after each [`Recovery::Retry`] that did not help.
    async fn recover(&self, step: u32) -> Result<Recovery, CredentialError>;
}

/// A login that never changes, or none.
#[derive(Clone, Debug, Default)]
pub struct FixedCredential(pub Option<Credential>);

#[async_trait]
impl CredentialSource for FixedCredential {
    async fn current(&self) -> Option<Credential> {
        self.0.clone()
    }

    async fn recover(&self, _step: u32) -> Result<Recovery, CredentialError> {
        Ok(Recovery::Exhausted)
    }
}

/// What one request carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Authorization {
    /// Nothing.
    None,
    /// A token that belongs to the provider.
    Provider(Secret),
    /// The login of the session.
    Session(Credential),
}

impl Authorization {
    /// The first that there is: the provider's own token, the session's login, nothing.
    ///
    /// The login is only for providers that ask for it: a key for the hosted API is nobody else's
    /// business.
    pub(crate) async fn find(
        provider: &Provider,
        environment: &dyn Environment,
        session: &dyn CredentialSource,
    ) -> Result<Self, ModelError> {
        if let Some(name) = &provider.env_key {
            return match non_blank(environment, name) {
                Some(token) => Ok(Self::Provider(token.trim().into())),
                None => Err(ModelError::MissingEnvironmentVariable {
                    name: name.clone(),
                    instructions: provider.env_key_instructions.clone(),
                }),
            };
        }
        if let Some(token) = &provider.bearer_token {
            return Ok(Self::Provider(token.clone()));
        }
        if !provider.requires_openai_auth {
            return Ok(Self::None);
        }
        Ok(session.current().await.map_or(Self::None, Self::Session))
    }

    pub(crate) fn bearer(&self) -> Option<&Secret> {
        match self {
            Self::None => None,
            Self::Provider(token) | Self::Session(Credential::ApiKey(token)) => Some(token),
            Self::Session(Credential::ChatGpt { access_token, .. }) => Some(access_token),
        }
    }

    pub(crate) fn account_id(&self) -> Option<&str> {
        match self {
            Self::Session(Credential::ChatGpt { account_id, .. }) => account_id.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn is_chatgpt(&self) -> bool {
        matches!(self, Self::Session(Credential::ChatGpt { .. }))
    }
}

impl From<CredentialError> for ModelError {
    fn from(error: CredentialError) -> Self {
        match error {
            CredentialError::Refused(text) => Self::LoginRefused(text),
            CredentialError::Failed(text) => Self::LoginNotRenewed(text),
        }
    }
}
