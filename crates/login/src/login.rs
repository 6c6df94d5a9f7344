//! A login as the rest of the program sees it.

use codex_model_client::{Credential, Secret, plan_type};
use codex_protocol::{AuthMode, ForcedLoginMethod, PlanType};
use jiff::Timestamp;

use crate::auth_file::{AuthFile, ChatGptTokens};
use crate::jwt;
use crate::jwt::TokenClaims;
use crate::settings::LoginSettings;

/// After how long tokens that do not say when they expire are renewed.
const USUAL_LIFE: jiff::SignedDuration = jiff::SignedDuration::from_hours(8 * 24);
/// How long before they expire tokens are renewed.
const AHEAD: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// Who is logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    pub(crate) kind: LoginKind,
    email: Option<String>,
    plan: Option<PlanType>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoginKind {
    ApiKey(Secret),
    /// Tokens that are kept and renewed here.
    Managed {
        tokens: ChatGptTokens,
        last_refresh: Timestamp,
    },
    /// Tokens that a host application keeps and renews.
    External {
        access_token: Secret,
        account_id: String,
    },
}

impl Login {
    /// The login of a stored one; nothing if it is incomplete.
    pub(crate) fn of_file(file: &AuthFile) -> Option<Self> {
        if file.kind() == AuthMode::Apikey {
            let key = file.api_key.clone()?;
            let blank = key.reveal().trim().is_empty();
            return (!blank).then_some(Self {
                kind: LoginKind::ApiKey(key),
                email: None,
                plan: None,
            });
        }
        let tokens = file.tokens.clone()?;
        let claims = TokenClaims::of(tokens.id_token.reveal()).ok()?;
        let kind = LoginKind::Managed {
            tokens,
            last_refresh: file.last_refresh?,
        };
        Some(Self::chatgpt(kind, claims, None))
    }

    /// The login of tokens that a host application brought.
    pub(crate) fn external(
        access_token: &str,
        account_id: &str,
        plan: Option<&str>,
    ) -> Result<Self, jwt::InvalidToken> {
        let claims = TokenClaims::of(access_token)?;
        let kind = LoginKind::External {
            access_token: access_token.into(),
            account_id: account_id.to_owned(),
        };
        Ok(Self::chatgpt(kind, claims, plan))
    }

    fn chatgpt(kind: LoginKind, claims: TokenClaims, plan: Option<&str>) -> Self {
        let plan = plan.or(claims.plan.as_deref()).map(plan_type);
        Self {
            kind,
            email: claims.email,
            plan: Some(plan.unwrap_or(PlanType::Unknown)),
        }
    }

    /// The kind of login.
    pub fn mode(&self) -> AuthMode {
        match self.kind {
            LoginKind::ApiKey(_) => AuthMode::Apikey,
            LoginKind::Managed { .. } => AuthMode::Chatgpt,
            LoginKind::External { .. } => AuthMode::ChatgptAuthTokens,
        }
    }

    /// The address of the account, if a token says it.
    pub fn email(&self) -> Option<&str> {
        self.email.as_deref()
    }

    /// The plan of a ChatGPT login.
    pub fn plan(&self) -> Option<PlanType> {
        self.plan
    }

    /// What requests are authorised with.
    pub fn credential(&self) -> Credential {
        let (access_token, account_id) = match &self.kind {
            LoginKind::ApiKey(key) => return Credential::ApiKey(key.clone()),
            LoginKind::Managed { tokens, .. } => (&tokens.access_token, tokens.account_id.clone()),
            LoginKind::External {
                access_token,
                account_id,
            } => (access_token, Some(account_id.clone())),
        };
        Credential::ChatGpt {
            access_token: access_token.clone(),
            account_id,
        }
    }

    /// The key or the access token.
    pub fn token(&self) -> &Secret {
        match &self.kind {
            LoginKind::ApiKey(key) => key,
            LoginKind::Managed { tokens, .. } => &tokens.access_token,
            LoginKind::External { access_token, .. } => access_token,
        }
    }

    /// Whether tokens have to be renewed before they are used.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        let LoginKind::Managed {
            tokens,
            last_refresh,
        } = &self.kind
        else {
            return false;
        };
        match jwt::expiry(tokens.access_token.reveal()) {
            Some(expiry) => expiry.duration_since(now) <= AHEAD,
            None => now.duration_since(*last_refresh) > USUAL_LIFE,
        }
    }

    /// Whether an administrator lets this login be used.
    pub(crate) fn is_allowed(&self, settings: &LoginSettings) -> bool {
        let method = match settings.forced_method {
            None => true,
            Some(ForcedLoginMethod::Api) => self.mode() == AuthMode::Apikey,
            Some(ForcedLoginMethod::Chatgpt) => self.mode() != AuthMode::Apikey,
        };
        let workspace = match (&settings.forced_workspace, &self.kind) {
            (None, _) | (_, LoginKind::ApiKey(_)) => true,
            (Some(forced), LoginKind::External { account_id, .. }) => account_id == forced,
            (Some(forced), LoginKind::Managed { tokens, .. }) => {
                let claims = TokenClaims::of(tokens.id_token.reveal()).unwrap_or_default();
                claims.account_id.as_ref() == Some(forced)
            }
        };
        method && workspace
    }
}
