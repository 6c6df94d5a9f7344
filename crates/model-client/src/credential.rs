//! Authorises requests, and recovers when the server rejects a login.
//!
//! Logging in, storage and renewal are up to implementations of [`CredentialSource`]. This module only selects the token
//! for a request.

use std::fmt;

use async_trait::async_trait;
use codex_http::{Environment, non_blank};
use codex_protocol::{Provider, Secret};

use crate::error::ModelError;

/// A login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    ApiKey(Secret),
    ChatGpt {
        /// The access token.
        access_token: Secret,
        /// The account id.
        account_id: Option<String>,
        /// Whether the account is on the service's servers for government.
        is_fedramp: bool,
    },
}

impl Credential {
    /// The headers that name the account of a ChatGPT login.
    pub fn account_headers(&self) -> Vec<(&'static str, &str)> {
        let Self::ChatGpt {
            account_id,
            is_fedramp,
            ..
        } = self
        else {
            return Vec::new();
        };
        let account = account_id.as_deref().map(|id| ("chatgpt-account-id", id));
        let fedramp = is_fedramp.then_some(("x-openai-fedramp", "true"));
        account.into_iter().chain(fedramp).collect()
    }
}

/// The result of a recovery step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The credential may have changed: send the request again.
    Retry,
    /// There are no more steps.
    Exhausted,
}

/// Why a login could not be renewed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The login is no longer valid; the user must log in again. Contains the text for the user.
    #[error("{0}")]
    Refused(String),
    /// A temporary failure.
    #[error("{0}")]
    Failed(String),
}

/// Provides the login.
#[async_trait]
pub trait CredentialSource: Send + Sync + fmt::Debug {
    /// The current credential, renewed if it is about to expire; none if not logged in.
    async fn current(&self) -> Option<Credential>;

    /// Performs recovery step `step`, from 0, after a server has rejected a ChatGPT login. Called again with the next step
    /// if the server rejects the request after [`Recovery::Retry`].
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

/// Whether requests go to the hosted service, which refuses them without a login, and no header of the settings is one.
fn is_hosted_without_headers(provider: &Provider) -> bool {
    let mut names = provider
        .http_headers
        .keys()
        .chain(provider.env_http_headers.keys());
    provider.base_url.is_none() && !names.any(|name| name.eq_ignore_ascii_case("authorization"))
}

/// The authorisation of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Authorization {
    /// No authorisation.
    None,
    /// A token of the provider.
    Provider(Secret),
    /// The user's login.
    Session(Credential),
}

impl Authorization {
    /// Selects the authorisation: the provider's own token, else the user's login, else none.
    ///
    /// The login is sent only to providers that require it, so that keys for the hosted API do not reach others.
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
        let login = session.current().await;
        if login.is_none() && is_hosted_without_headers(provider) {
            return Err(ModelError::NotLoggedIn);
        }
        Ok(login.map_or(Self::None, Self::Session))
    }

    pub(crate) fn bearer(&self) -> Option<&Secret> {
        match self {
            Self::None => None,
            Self::Provider(token) | Self::Session(Credential::ApiKey(token)) => Some(token),
            Self::Session(Credential::ChatGpt { access_token, .. }) => Some(access_token),
        }
    }

    /// The headers that name the account.
    pub(crate) fn account_headers(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Session(credential) => credential.account_headers(),
            Self::None | Self::Provider(_) => Vec::new(),
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
