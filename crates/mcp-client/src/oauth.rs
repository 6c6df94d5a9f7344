//! Logins to servers behind HTTP (OAuth 2.1: authorization code with PKCE, dynamic client registration).
//!
//! [`McpLogins`] starts and deletes them. They are stored in `.credentials.json` in the home folder, readable for
//! its owner only, in a format that other programs share. Tokens appear in no log and no error.

mod challenge;
mod client;
mod credentials_file;
mod discovery;
mod login;
mod replies;
mod tokens;

use std::collections::HashMap;
use std::io;
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use codex_private_files::secret_file;
use parking_lot::Mutex;

use crate::config::{McpServerConfig, McpServerTransport};

pub(crate) use challenge::Challenge;
pub(crate) use client::OAuthClient;
use credentials_file::CredentialsFile;
pub(crate) use discovery::discover;
use login::PendingMcpLogin;
pub use login::StartedMcpLogin;
pub(crate) use tokens::LoginTokens;

/// Where logins are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum McpLoginStore {
    /// In `.credentials.json`.
    #[default]
    File,
    /// In the keyring of the system, which this version cannot use.
    Keyring,
}

/// The configuration of logins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct McpLoginSettings {
    pub store: McpLoginStore,
    /// The port of the callback listener; any free port if absent.
    pub callback_port: Option<NonZeroU16>,
    /// The redirect URI, if something forwards from there to this machine.
    pub callback_url: Option<String>,
}

/// The stored and pending logins to servers.
#[derive(Clone, Debug)]
pub struct McpLogins {
    file: CredentialsFile,
    settings: McpLoginSettings,
    pending: Arc<Mutex<HashMap<String, PendingMcpLogin>>>,
    /// The scopes that servers demanded of a login that lacked some, for the next one.
    demanded: Arc<Mutex<HashMap<String, Vec<String>>>>,
}

/// The options of one login.
#[derive(Clone, Debug)]
pub struct McpLoginOptions {
    /// The scopes to request; they replace those of the configuration or of the authorization server.
    pub scopes: Option<Vec<String>>,
    /// How long the login waits for the user.
    pub time: Duration,
    /// Whether this program registers itself even if a client is configured.
    pub registers_itself: bool,
}

/// How requests to a server are authorized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpAuthorization {
    /// Not at all: the server is a program, or supports no logins.
    Unsupported,
    /// The server supports logins, but none is stored.
    NotLoggedIn,
    /// By a configured token.
    BearerToken,
    /// By a stored login.
    Login,
}

/// Why a login failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpLoginError {
    /// The server is a program.
    #[error("OAuth login is only supported for streamable HTTP servers.")]
    Program,
    /// The authorization server refused.
    #[error("OAuth provider returned `{code}`{}", description.as_ref().map(|text| format!(": {text}")).unwrap_or_default())]
    Refused {
        /// The OAuth error code.
        code: String,
        /// The text of the authorization server.
        description: Option<String>,
    },
    #[error("{0}")]
    Failed(String),
}

impl McpLoginError {
    /// Whether another login may succeed with other scopes.
    #[must_use]
    pub fn is_about_scopes(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "invalid_scope")
    }
}

impl McpLogins {
    /// The logins of a home folder.
    #[must_use]
    pub fn in_home(home: &Path) -> Self {
        Self {
            file: CredentialsFile::in_home(home),
            settings: McpLoginSettings::default(),
            pending: Arc::default(),
            demanded: Arc::default(),
        }
    }

    /// The same logins with another configuration.
    #[must_use]
    pub fn with_settings(&self, settings: McpLoginSettings) -> Self {
        Self {
            settings,
            ..self.clone()
        }
    }

    /// Deletes the login to a server. False if there was none.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub async fn forget(&self, server: &McpServerConfig) -> io::Result<bool> {
        let McpServerTransport::Http { url, .. } = &server.transport else {
            return Ok(false);
        };
        self.check().map_err(io::Error::other)?;
        let _lock = secret_file::lock(self.file.path()).await;
        self.file.remove(&server.name, url)
    }

    pub(crate) fn has(&self, server: &McpServerConfig) -> bool {
        let McpServerTransport::Http { url, .. } = &server.transport else {
            return false;
        };
        self.settings.store == McpLoginStore::File && self.file.find(&server.name, url).is_some()
    }

    /// The tokens for a server, if a login is stored.
    pub(crate) fn tokens(
        &self,
        server: &McpServerConfig,
        oauth_client: OAuthClient,
    ) -> Option<LoginTokens> {
        let McpServerTransport::Http { url, .. } = &server.transport else {
            return None;
        };
        if let Err(problem) = self.check() {
            tracing::warn!(server = server.name, "{problem}");
            return None;
        }
        let login = self.file.find(&server.name, url)?;
        Some(LoginTokens::new(self.file.clone(), oauth_client, login))
    }

    /// Notes what scopes a server demands of the next login.
    pub(crate) fn demand(&self, server_name: &str, url: &str, scopes: Vec<String>) {
        let key = credentials_file::key(server_name, url);
        self.demanded.lock().insert(key, scopes);
    }

    fn check(&self) -> Result<(), &'static str> {
        match self.settings.store {
            McpLoginStore::File => Ok(()),
            McpLoginStore::Keyring => Err("this version cannot use the system's keyring; set \
                                        `mcp_oauth_credentials_store` to `file`"),
        }
    }
}
