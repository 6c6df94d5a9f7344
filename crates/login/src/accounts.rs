//! The login of a process: loads, replaces, renews and deletes it.
//!
//! The store is authoritative: it is read again whenever this or another process has changed it. Tokens of a host
//! application are kept in memory only and take precedence over the store until the user logs out.

use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{fmt, io};

use async_trait::async_trait;
use codex_http::HttpPool;
use codex_model_client::{
    ClientIdentity, Clock, Credential, CredentialError, CredentialSource, Recovery, Secret,
};
use codex_protocol::{AuthMode, ForcedLoginMethod};
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::account_state::{CachedRequirements, LoggedOut, PendingLogin};
use crate::auth_file::AuthFile;
use crate::login::{Login, LoginKind};
use crate::service_client::ServiceClient;
use crate::settings::LoginSettings;
use crate::store::{CredentialStore, StoreStamp};
use crate::token_owner::{KnownToken, is_personal};

/// The login of a process.
#[derive(Debug)]
pub struct Accounts {
    pub(crate) settings: LoginSettings,
    pub(crate) http: ServiceClient,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) store: CredentialStore,
    refresher: OnceLock<Arc<dyn TokenRefresher>>,
    state: Mutex<LoadedLogins>,
    /// Locked during a renewal, so that other tasks wait for the new tokens.
    pub(crate) renewing: tokio::sync::Mutex<()>,
    /// The pending browser login.
    pub(crate) pending: Mutex<Option<PendingLogin>>,
    /// The cached requirements of the account.
    pub(crate) requirements: tokio::sync::Mutex<Option<CachedRequirements>>,
}

#[derive(Debug, Default)]
struct LoadedLogins {
    /// The login with tokens of a host application.
    external: Option<Login>,
    /// Whether this process is logged in with the key of the environment.
    uses_environment_key: bool,
    /// The login that was last read from the store, with the store's stamp at that time.
    stored: Option<(StoreStamp, Stored)>,
    /// Why the store has no usable login.
    problem: Option<String>,
    /// The refresh token that was refused for good, and why.
    refused: Option<(Secret, String)>,
    /// What is known of a personal access token.
    personal: Option<KnownToken>,
}

/// What the store has.
#[derive(Clone, Debug)]
enum Stored {
    Nothing,
    Login(Login),
    /// A personal access token, which is a login as soon as its owner is known.
    PersonalToken(Secret),
}

/// Tokens that a host application obtained.
#[derive(Clone, PartialEq, Eq)]
pub struct ExternalTokens {
    pub access_token: String,
    pub account_id: String,
    /// The name of the plan; by default the one in the token.
    pub plan: Option<String>,
}

impl fmt::Debug for ExternalTokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ExternalTokens")
            .field("account_id", &self.account_id)
            .finish_non_exhaustive()
    }
}

/// Requests new tokens from the host application.
#[async_trait]
pub trait TokenRefresher: Send + Sync + fmt::Debug {
    /// Requests tokens that replace those of an account, because a server has refused them.
    ///
    /// # Errors
    /// The host application sent no usable tokens.
    async fn renew(
        &self,
        previous_account: Option<&str>,
    ) -> Result<ExternalTokens, TokenRefreshError>;
}

/// Why a host application sent no new tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefreshError {
    /// No client is connected.
    #[error("auth refresh request canceled: no client is connected")]
    NoClient,
    /// No client replied within this time.
    #[error("auth refresh request timed out after {}s", .0.as_secs())]
    TimedOut(Duration),
    /// The client replied with an error.
    #[error("auth refresh request failed: code={code} message={message}")]
    Refused {
        /// The JSON-RPC error code.
        code: i64,
        /// The text of the error.
        message: String,
    },
    /// The reply has no tokens in the expected form.
    #[error("auth refresh request failed: {0}")]
    Unreadable(String),
}

/// Why logging in or out failed.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// Not allowed by the settings, or not in the current state.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Failed(String),
}

impl Accounts {
    /// Creates the login of a process. The store is read on first use.
    pub fn new(
        settings: LoginSettings,
        http: Arc<HttpPool>,
        identity: ClientIdentity,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            store: CredentialStore::new(settings.store, &settings.home),
            settings,
            http: ServiceClient { http, identity },
            clock,
            refresher: OnceLock::new(),
            state: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
            pending: Mutex::default(),
            requirements: tokio::sync::Mutex::default(),
        }
    }

    /// Sets who renews tokens of a host application. Only the first call has an effect.
    pub fn set_token_refresher(&self, refresher: Arc<dyn TokenRefresher>) {
        let _ = self.refresher.set(refresher);
    }

    /// The current login, if the settings allow it.
    pub fn login(&self) -> Option<Login> {
        let login = self.any_login();
        login.filter(|login| login.is_allowed(&self.settings))
    }

    /// What is wrong with the stored login, as a text for the user.
    pub fn problem(&self) -> Option<String> {
        let login = self.any_login();
        let token = self.token_in_use().filter(|_| login.is_none());
        let state = self.state.lock();
        let of_token = |token: Secret| {
            if is_personal(token.reveal()) {
                return state.personal.as_ref()?.problem(&token);
            }
            Some("the access token is of a kind that is not used here".to_owned())
        };
        token.and_then(of_token).or_else(|| state.problem.clone())
    }

    /// Logs in with an API key, and stores it if it is not that of the environment.
    ///
    /// # Errors
    /// The key is blank, not allowed, or cannot be stored.
    pub fn log_in_with_api_key(&self, key: &str) -> Result<(), LoginError> {
        self.refuse_without_restrictions()?;
        self.refuse_beside_external()?;
        if self.settings.forced_method == Some(ForcedLoginMethod::Chatgpt) {
            let text = "API key login is disabled. Use ChatGPT login instead.";
            return Err(LoginError::Refused(text.to_owned()));
        }
        if key.trim().is_empty() {
            let text = "the API key must not be empty";
            return Err(LoginError::Refused(text.to_owned()));
        }
        self.cancel_pending();
        let environment_key = self.settings.environment_key.as_ref();
        let is_of_environment = environment_key.is_some_and(|own| own.reveal() == key);
        self.state.lock().uses_environment_key = is_of_environment;
        if is_of_environment {
            return Ok(());
        }
        let saved = self.save(&AuthFile::with_api_key(key.into()));
        saved.map_err(|error| LoginError::Failed(format!("failed to save api key: {error}")))
    }

    /// Logs in with tokens of a host application, which are kept in memory only.
    ///
    /// # Errors
    /// The tokens are not valid or not allowed.
    pub fn log_in_with_tokens(&self, tokens: &ExternalTokens) -> Result<(), LoginError> {
        self.refuse_without_restrictions()?;
        if self.settings.forced_method == Some(ForcedLoginMethod::Api) {
            let text = "External ChatGPT auth is disabled. Use API key login instead.";
            return Err(LoginError::Refused(text.to_owned()));
        }
        self.cancel_pending();
        let id = &tokens.account_id;
        if !self.settings.allows_workspace(id) {
            let forced = self.settings.allowed_workspaces();
            let text = format!("External auth must use workspace {forced}, but received \"{id}\".");
            return Err(LoginError::Refused(text));
        }
        let login = external_login(tokens);
        let failed = |error| LoginError::Failed(format!("failed to set external auth: {error}"));
        self.state.lock().external = Some(login.map_err(failed)?);
        Ok(())
    }

    /// Deletes the login. The tokens stay valid until [`revoke`](Self::revoke).
    ///
    /// # Errors
    /// The stored login cannot be deleted.
    pub fn log_out(&self) -> Result<LoggedOut, LoginError> {
        self.cancel_pending();
        let refresh_token = self.stored_refresh_token();
        let (external, used_environment_key) = {
            let mut state = self.state.lock();
            let used = std::mem::take(&mut state.uses_environment_key);
            (state.external.take(), used)
        };
        let deleted = self.store.delete();
        self.reload();
        let deleted =
            deleted.map_err(|error| LoginError::Failed(format!("logout failed: {error}")))?;
        Ok(LoggedOut {
            was_logged_in: deleted || external.is_some() || used_environment_key,
            refresh_token,
        })
    }

    /// Renews managed tokens. Other logins stay unchanged.
    ///
    /// # Errors
    /// The renewal failed or was refused.
    pub async fn renew(&self) -> Result<(), CredentialError> {
        match self.login().map(|login| login.kind) {
            Some(LoginKind::Managed { tokens, .. }) => self.renew_managed(&tokens).await,
            _ => Ok(()),
        }
    }

    /// The current login, renewed first if its tokens are about to expire. A failed renewal is logged.
    pub async fn fresh_login(&self) -> Option<Login> {
        self.identify().await;
        let login = self.login()?;
        if !login.is_due(self.now()) || self.refusal(&login).is_some() {
            return Some(login);
        }
        if let Err(error) = self.renew().await {
            tracing::warn!(%error, "tokens that are due were not renewed");
        }
        self.login()
    }

    /// Whether keys for Amazon Bedrock are stored. Reads the store.
    pub fn has_bedrock_keys(&self) -> bool {
        let stored = self.store.load();
        stored.is_ok_and(|stored| stored.is_some_and(|file| file.is_of_bedrock))
    }

    /// Why the tokens of a login can no longer be renewed, if a renewal was refused.
    pub fn refusal(&self, login: &Login) -> Option<String> {
        let LoginKind::Managed { tokens, .. } = &login.kind else {
            return None;
        };
        self.remembered_refusal(&tokens.refresh_token)
    }

    pub(crate) fn know_token(&self, known: KnownToken) {
        self.state.lock().personal = Some(known);
    }

    pub(crate) fn is_known(&self, test: impl FnOnce(&KnownToken) -> bool) -> bool {
        self.state.lock().personal.as_ref().is_some_and(test)
    }

    /// The personal access token in use. Reads the store.
    pub(crate) fn token_in_use(&self) -> Option<Secret> {
        let mut state = self.state.lock();
        let has_key = self.settings.api_key.is_some() || self.key_of_environment(&state).is_some();
        if has_key || state.external.is_some() {
            return None;
        }
        if let Some(token) = &self.settings.personal_token {
            return Some(token.clone());
        }
        match self.stored(&mut state) {
            Stored::PersonalToken(token) => Some(token),
            Stored::Nothing | Stored::Login(_) => None,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now().timestamp()
    }

    /// Replaces the stored login.
    pub(crate) fn save(&self, file: &AuthFile) -> io::Result<()> {
        let saved = self.store.save(file);
        self.reload();
        saved
    }

    /// Discards the cached login, so that the store is read again.
    pub(crate) fn reload(&self) {
        self.state.lock().stored = None;
    }

    pub(crate) fn remembered_refusal(&self, refresh_token: &Secret) -> Option<String> {
        let state = self.state.lock();
        let refused = state.refused.as_ref();
        let refused = refused.filter(|(token, _)| token == refresh_token);
        refused.map(|(_, why)| why.clone())
    }

    pub(crate) fn remember_refusal(&self, refresh_token: &Secret, why: &str) {
        self.state.lock().refused = Some((refresh_token.clone(), why.to_owned()));
    }

    /// Fails if a host application provides the tokens: only it may replace them.
    /// Refuses a login where it is not known which ones are allowed.
    pub(crate) fn refuse_without_restrictions(&self) -> Result<(), LoginError> {
        match &self.settings.unknown_restriction {
            None => Ok(()),
            Some(problem) => Err(LoginError::Refused(format!(
                "the settings cannot be used, so it is not known which logins they allow: {problem}"
            ))),
        }
    }

    pub(crate) fn refuse_beside_external(&self) -> Result<(), LoginError> {
        if self.state.lock().external.is_none() {
            return Ok(());
        }
        let text = "External auth is active. Use account/login/start (chatgptAuthTokens) to update it or \
                    account/logout to clear it.";
        Err(LoginError::Refused(text.to_owned()))
    }

    /// The key of the environment, if this process is logged in with it.
    fn key_of_environment(&self, state: &LoadedLogins) -> Option<&Secret> {
        let key = self.settings.environment_key.as_ref();
        key.filter(|_| state.uses_environment_key)
    }

    fn any_login(&self) -> Option<Login> {
        if let Some(key) = &self.settings.api_key {
            return Login::of_file(&AuthFile::with_api_key(key.clone()));
        }
        let mut state = self.state.lock();
        if state.external.is_some() {
            return state.external.clone();
        }
        if let Some(key) = self.key_of_environment(&state) {
            return Login::of_file(&AuthFile::with_api_key(key.clone()));
        }
        let of_token = |state: &LoadedLogins, token: &Secret| {
            let owner = state.personal.as_ref()?.owner(token)?;
            Some(Login::personal(token.clone(), owner.clone()))
        };
        if let Some(token) = &self.settings.personal_token {
            return of_token(&state, token);
        }
        match self.stored(&mut state) {
            Stored::Nothing => None,
            Stored::Login(login) => Some(login),
            Stored::PersonalToken(token) => of_token(&state, &token),
        }
    }

    /// What the store has, read again if it has changed.
    fn stored(&self, state: &mut LoadedLogins) -> Stored {
        let stamp = self.store.stamp();
        if let Some((known, stored)) = &state.stored
            && *known == stamp
        {
            return stored.clone();
        }
        let (stored, problem) = match self.store.load() {
            Ok(None) => (Stored::Nothing, None),
            Ok(Some(file)) => match stored_in(&file) {
                Some(stored) => (stored, None),
                None => {
                    let problem = "the stored login is incomplete".to_owned();
                    (Stored::Nothing, Some(problem))
                }
            },
            Err(error) => {
                let problem = format!("the stored login cannot be read: {error}");
                (Stored::Nothing, Some(problem))
            }
        };
        if let Some(problem) = &problem {
            tracing::warn!(%problem, "nobody is logged in");
        }
        state.problem = problem;
        state.stored = Some((stamp, stored.clone()));
        stored
    }

    async fn renew_external(&self, account: &str) -> Result<(), CredentialError> {
        let missing = || "external auth refresher is not configured".to_owned();
        let refresher = self.refresher.get().ok_or_else(missing);
        let refresher = refresher.map_err(CredentialError::Failed)?;
        let tokens = refresher.renew(Some(account)).await;
        let tokens = tokens.map_err(|error| CredentialError::Failed(error.to_string()))?;
        let id = &tokens.account_id;
        if !self.settings.allows_workspace(id) {
            let forced = self.settings.allowed_workspaces();
            let text =
                format!("external auth refresh returned workspace \"{id}\", expected \"{forced}\"");
            return Err(CredentialError::Failed(text));
        }
        let login = external_login(&tokens);
        let login = login.map_err(|error| CredentialError::Failed(error.to_string()))?;
        let mut state = self.state.lock();
        // A user who logged out during the renewal stays logged out.
        if state.external.is_some() {
            state.external = Some(login);
        }
        Ok(())
    }
}

fn stored_in(file: &AuthFile) -> Option<Stored> {
    if file.kind() != AuthMode::PersonalAccessToken {
        return Login::of_file(file).map(Stored::Login);
    }
    let token = file.personal_token.clone()?;
    is_personal(token.reveal()).then_some(Stored::PersonalToken(token))
}

fn external_login(tokens: &ExternalTokens) -> Result<Login, impl fmt::Display> {
    let plan = tokens.plan.as_deref();
    Login::external(&tokens.access_token, &tokens.account_id, plan)
}

#[async_trait]
impl CredentialSource for Accounts {
    async fn current(&self) -> Option<Credential> {
        Some(self.fresh_login().await?.credential())
    }

    async fn recover(&self, step: u32) -> Result<Recovery, CredentialError> {
        let Some(login) = self.login() else {
            return Ok(Recovery::Exhausted);
        };
        match (login.mode(), step, login.kind) {
            (_, 0, LoginKind::Managed { tokens, .. }) => {
                self.reload_same_account(&tokens)?;
                Ok(Recovery::Retry)
            }
            (_, 1, LoginKind::Managed { tokens, .. }) => {
                self.renew_managed(&tokens).await?;
                Ok(Recovery::Retry)
            }
            (AuthMode::ChatgptAuthTokens, 0, LoginKind::External { account_id, .. }) => {
                self.renew_external(&account_id).await?;
                Ok(Recovery::Retry)
            }
            _ => Ok(Recovery::Exhausted),
        }
    }
}
