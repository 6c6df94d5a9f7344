//! A login, as other crates see it.

use codex_model_client::{Credential, Secret, plan_type};
use codex_protocol::{AuthMode, ForcedLoginMethod, PlanType};
use jiff::Timestamp;

use crate::auth_file::{AuthFile, ChatGptTokens};
use crate::jwt;
use crate::jwt::TokenClaims;
use crate::settings::LoginSettings;
use crate::token_owner::TokenOwner;

/// After how long tokens without an expiry are renewed.
const DEFAULT_LIFETIME: jiff::SignedDuration = jiff::SignedDuration::from_hours(8 * 24);
/// How long before their expiry tokens are renewed.
const RENEWAL_MARGIN: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// A login: an API key or the tokens of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    pub(crate) kind: LoginKind,
    email: Option<String>,
    plan: Option<PlanType>,
    user_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoginKind {
    ApiKey(Secret),
    /// Tokens that this program stores and renews.
    Managed {
        tokens: ChatGptTokens,
        last_refresh: Timestamp,
    },
    /// Tokens that a host application stores and renews.
    External {
        access_token: Secret,
        account_id: String,
    },
    /// A token that its owner has made and that is never renewed.
    Personal {
        token: Secret,
        account_id: String,
        is_fedramp: bool,
    },
}

impl Login {
    /// Reads a stored login. `None` if it is incomplete.
    pub(crate) fn of_file(file: &AuthFile) -> Option<Self> {
        if file.kind() == AuthMode::Apikey {
            let key = file.api_key.clone()?;
            let blank = key.reveal().trim().is_empty();
            return (!blank).then_some(Self {
                kind: LoginKind::ApiKey(key),
                email: None,
                plan: None,
                user_id: None,
            });
        }
        let tokens = file.tokens.clone()?;
        let claims = TokenClaims::from_token(tokens.id_token.reveal()).ok()?;
        let kind = LoginKind::Managed {
            tokens,
            last_refresh: file.last_refresh?,
        };
        Some(Self::chatgpt(kind, claims, None))
    }

    /// Creates a login from the tokens of a host application.
    pub(crate) fn external(
        access_token: &str,
        account_id: &str,
        plan: Option<&str>,
    ) -> Result<Self, jwt::InvalidToken> {
        let claims = TokenClaims::from_token(access_token)?;
        let kind = LoginKind::External {
            access_token: access_token.into(),
            account_id: account_id.to_owned(),
        };
        Ok(Self::chatgpt(kind, claims, plan))
    }

    /// Creates a login from a personal access token.
    pub(crate) fn personal(token: Secret, owner: TokenOwner) -> Self {
        Self {
            kind: LoginKind::Personal {
                token,
                account_id: owner.account_id,
                is_fedramp: owner.is_fedramp,
            },
            email: owner.email,
            plan: Some(plan_type(&owner.plan)),
            user_id: Some(owner.user_id),
        }
    }

    fn chatgpt(kind: LoginKind, claims: TokenClaims, plan: Option<&str>) -> Self {
        let plan = plan.or(claims.plan.as_deref()).map(plan_type);
        Self {
            kind,
            email: claims.email,
            plan: Some(plan.unwrap_or(PlanType::Unknown)),
            user_id: claims.user_id,
        }
    }

    pub fn mode(&self) -> AuthMode {
        match self.kind {
            LoginKind::ApiKey(_) => AuthMode::Apikey,
            LoginKind::Managed { .. } => AuthMode::Chatgpt,
            LoginKind::External { .. } => AuthMode::ChatgptAuthTokens,
            LoginKind::Personal { .. } => AuthMode::PersonalAccessToken,
        }
    }

    /// The email address of the account, if a token contains it.
    pub fn email(&self) -> Option<&str> {
        self.email.as_deref()
    }

    /// The id of the user, who may be one of several of an account, if a token contains it.
    pub fn user_id(&self) -> Option<&str> {
        self.user_id.as_deref()
    }

    /// The plan of the account. API keys have none.
    pub fn plan(&self) -> Option<PlanType> {
        self.plan
    }

    /// The credential for requests.
    pub fn credential(&self) -> Credential {
        let (account_id, is_fedramp) = match &self.kind {
            LoginKind::ApiKey(key) => return Credential::ApiKey(key.clone()),
            LoginKind::Managed { tokens, .. } => (tokens.account_id.clone(), false),
            LoginKind::External { account_id, .. } => (Some(account_id.clone()), false),
            LoginKind::Personal {
                account_id,
                is_fedramp,
                ..
            } => (Some(account_id.clone()), *is_fedramp),
        };
        Credential::ChatGpt {
            access_token: self.token().clone(),
            account_id,
            is_fedramp,
        }
    }

    /// When the access token ends, if it says so.
    pub fn valid_until(&self) -> Option<Timestamp> {
        match &self.kind {
            LoginKind::ApiKey(_) => None,
            _ => jwt::expiry(self.token().reveal()),
        }
    }

    /// Whether the access token is replaced here before it ends.
    pub fn is_renewed(&self) -> bool {
        matches!(self.kind, LoginKind::Managed { .. })
    }

    /// The API key or the access token.
    pub fn token(&self) -> &Secret {
        match &self.kind {
            LoginKind::ApiKey(key) => key,
            LoginKind::Managed { tokens, .. } => &tokens.access_token,
            LoginKind::External { access_token, .. } => access_token,
            LoginKind::Personal { token, .. } => token,
        }
    }

    /// Whether the tokens must be renewed before the next request.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        let LoginKind::Managed {
            tokens,
            last_refresh,
        } = &self.kind
        else {
            return false;
        };
        match jwt::expiry(tokens.access_token.reveal()) {
            Some(expiry) => expiry.duration_since(now) <= RENEWAL_MARGIN,
            None => now.duration_since(*last_refresh) > DEFAULT_LIFETIME,
        }
    }

    /// Whether the settings of the administrator allow this login.
    pub(crate) fn is_allowed(&self, settings: &LoginSettings) -> bool {
        let method = match settings.forced_method {
            None => true,
            Some(ForcedLoginMethod::Api) => self.mode() == AuthMode::Apikey,
            Some(ForcedLoginMethod::Chatgpt) => self.mode() != AuthMode::Apikey,
        };
        let workspace = match &self.kind {
            LoginKind::ApiKey(_) => true,
            LoginKind::External { account_id, .. } | LoginKind::Personal { account_id, .. } => {
                settings.allows_workspace(account_id)
            }
            LoginKind::Managed { tokens, .. } => {
                let claims = TokenClaims::from_token(tokens.id_token.reveal()).unwrap_or_default();
                match claims.account_id {
                    Some(id) => settings.allows_workspace(&id),
                    None => settings.forced_workspaces.is_empty(),
                }
            }
        };
        method && workspace
    }
}
