//! Everything from outside that logging in depends on.

use std::path::PathBuf;
use std::time::Duration;

use codex_model_client::Secret;
use codex_protocol::ForcedLoginMethod;

/// Where logins lead to and what is allowed.
#[derive(Clone, Debug)]
pub struct LoginSettings {
    /// The home folder of the program.
    pub home: PathBuf,
    /// Where the login is kept.
    pub store: StoreKind,
    /// A key that takes the place of every other login.
    pub api_key: Option<Secret>,
    /// The only kind of login allowed.
    pub forced_method: Option<ForcedLoginMethod>,
    /// The only workspace allowed.
    pub forced_workspace: Option<String>,
    /// The identity server, without a slash at its end.
    pub issuer: String,
    /// What this program is called there.
    pub client_id: String,
    /// Where tokens are renewed, if not at the identity server.
    pub refresh_url: Option<String>,
    /// Where tokens are revoked, if not at the identity server.
    pub revoke_url: Option<String>,
    /// The backend of services that go with a login.
    pub backend_url: String,
    /// The port on which a browser comes back; 0 for any.
    pub callback_port: u16,
    /// How long a browser may take.
    pub browser_time: Duration,
    /// How long another device may take.
    pub device_time: Duration,
}

/// Where a login is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// In `auth.json`.
    File,
    /// In the keyring of the system, which this version cannot use.
    Keyring,
    /// In the keyring, or else in the file.
    Auto,
    /// In memory.
    Ephemeral,
}

impl LoginSettings {
    /// The hosted service.
    pub fn hosted(home: impl Into<PathBuf>) -> Self {
        Self {
            home: home.into(),
            store: StoreKind::File,
            api_key: None,
            forced_method: None,
            forced_workspace: None,
            issuer: "https://auth.openai.com".to_owned(),
            client_id: "app_EMoamEEZ73f0CkXaXp7hrann".to_owned(),
            refresh_url: None,
            revoke_url: None,
            backend_url: "https://chatgpt.com/backend-api/".to_owned(),
            callback_port: 1455,
            browser_time: Duration::from_secs(10 * 60),
            device_time: Duration::from_secs(15 * 60),
        }
    }

    /// Where tokens are given out.
    pub(crate) fn token_url(&self) -> String {
        format!("{}/oauth/token", self.issuer)
    }

    /// Where tokens are revoked.
    pub(crate) fn revoke_url(&self) -> String {
        let own = self.revoke_url.clone();
        own.unwrap_or_else(|| format!("{}/oauth/revoke", self.issuer))
    }

    /// Where tokens are renewed.
    pub(crate) fn refresh_url(&self) -> String {
        let own = self.refresh_url.clone();
        own.unwrap_or_else(|| self.token_url())
    }
}
