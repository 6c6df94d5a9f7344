//! The settings of logins.

use std::path::PathBuf;
use std::time::Duration;

use codex_model_client::Secret;
use codex_protocol::ForcedLoginMethod;

/// The addresses, time limits and restrictions of logins.
#[derive(Clone, Debug)]
pub struct LoginSettings {
    /// The home folder, with `auth.json`.
    pub home: PathBuf,
    pub store: StoreKind,
    /// An API key that takes precedence over every other login.
    pub api_key: Option<Secret>,
    /// A key of the environment. Who logs in with it is logged in for this process; it is never stored.
    pub environment_key: Option<Secret>,
    /// A personal access token that takes precedence over the stored login.
    pub personal_token: Option<Secret>,
    /// The only kind of login that is allowed.
    pub forced_method: Option<ForcedLoginMethod>,
    /// The only workspaces that are allowed; empty allows any.
    pub forced_workspaces: Vec<String>,
    /// Why it is not known which logins are allowed, if it is not. Then nobody logs in.
    pub unknown_restriction: Option<String>,
    /// The address of the identity server, without a trailing slash.
    pub issuer: String,
    /// The OAuth client id of this program.
    pub client_id: String,
    /// The endpoint for renewals, if not the usual one of the identity server.
    pub refresh_url: Option<String>,
    /// The endpoint for revocations, if not the usual one of the identity server.
    pub revoke_url: Option<String>,
    /// The address of the service that knows the owners of personal access tokens.
    pub account_api_url: String,
    /// The address of the service's backend.
    pub backend_url: String,
    /// The port of the browser callback; 0 for any free port.
    pub callback_port: u16,
    /// How long a browser login waits for the user.
    pub browser_time: Duration,
    /// How long a device login waits for the user.
    pub device_time: Duration,
}

/// Where a login is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    File,
    /// In the keyring of the system: on macOS and Windows.
    Keyring,
    /// In the keyring if there is one, otherwise in `auth.json`.
    Auto,
    /// In memory only.
    Ephemeral,
}

impl LoginSettings {
    /// Whether a login may belong to this workspace.
    pub(crate) fn allows_workspace(&self, id: &str) -> bool {
        let allowed = &self.forced_workspaces;
        allowed.is_empty() || allowed.iter().any(|one| one == id)
    }

    /// The workspaces that are allowed, for people.
    pub(crate) fn allowed_workspaces(&self) -> String {
        self.forced_workspaces.join(", ")
    }

    /// The settings for the hosted service.
    pub fn hosted(home: impl Into<PathBuf>) -> Self {
        Self {
            home: home.into(),
            store: StoreKind::File,
            api_key: None,
            environment_key: None,
            personal_token: None,
            forced_method: None,
            forced_workspaces: Vec::new(),
            unknown_restriction: None,
            issuer: "https://auth.openai.com".to_owned(),
            client_id: "app_EMoamEEZ73f0CkXaXp7hrann".to_owned(),
            refresh_url: None,
            revoke_url: None,
            account_api_url: "https://auth.openai.com/api/accounts".to_owned(),
            backend_url: "https://chatgpt.com/backend-api/".to_owned(),
            callback_port: 1455,
            browser_time: Duration::from_secs(10 * 60),
            device_time: Duration::from_secs(15 * 60),
        }
    }

    /// The endpoint that exchanges codes for tokens.
    pub(crate) fn token_url(&self) -> String {
        format!("{}/oauth/token", self.issuer)
    }

    /// The endpoint that revokes tokens.
    pub(crate) fn revoke_url(&self) -> String {
        let own = self.revoke_url.clone();
        own.unwrap_or_else(|| format!("{}/oauth/revoke", self.issuer))
    }

    /// The endpoint that renews tokens.
    pub(crate) fn refresh_url(&self) -> String {
        let own = self.refresh_url.clone();
        own.unwrap_or_else(|| self.token_url())
    }
}
