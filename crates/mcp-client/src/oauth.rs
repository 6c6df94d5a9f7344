//! Logins to servers behind HTTP (OAuth 2.1: authorisation code with PKCE, dynamic registration).
//!
//! [`Logins`] begins and forgets them. They are kept in `.credentials.json` in the home folder, which
//! only its owner can read, in a form that other programs share. Tokens are in no log and in no error.

mod caller;
mod discovery;
mod file;
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

use crate::server::{Server, Way};

pub(crate) use caller::Caller;
pub(crate) use discovery::discover;
use file::CredentialsFile;
use login::Pending;
pub use login::StartedLogin;
pub(crate) use tokens::Tokens;

/// Where logins are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LoginStore {
    /// In the file.
    #[default]
    File,
    /// In the keyring of the system, which this version cannot use.
    Keyring,
}

/// What is configured of logins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LoginSettings {
    /// Where they are kept.
    pub store: LoginStore,
    /// The port on which a browser comes back; any unless given.
    pub callback_port: Option<NonZeroU16>,
    /// Where a browser is sent, if something leads from there to this machine.
    pub callback_url: Option<String>,
}

/// The logins to servers.
#[derive(Clone, Debug)]
pub struct Logins {
    file: CredentialsFile,
    settings: LoginSettings,
    pending: Arc<Mutex<HashMap<String, Pending>>>,
}

/// How a login is to go.
#[derive(Clone, Debug)]
pub struct LoginOptions {
    /// What to ask for, in place of what is configured or offered.
    pub scopes: Option<Vec<String>>,
    /// How long a person may take.
    pub time: Duration,
}

/// How requests to a server are authorised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// Not at all: it is a program, or offers no logins.
    Unsupported,
    /// It offers logins, and there is none.
    NotLoggedIn,
    /// By a configured token.
    BearerToken,
    /// By a login.
    Login,
}

/// Why a login did not come about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// The server is a program.
    #[error("OAuth login is only supported for streamable HTTP servers.")]
    Program,
    /// The authorisation server turned the person down.
    #[error("OAuth provider returned `{code}`{}", description.as_ref().map(|text| format!(": {text}")).unwrap_or_default())]
    Refused {
        /// Its name of the reason.
        code: String,
        /// What it says to people.
        description: Option<String>,
    },
    /// Something else went wrong.
    #[error("{0}")]
    Failed(String),
}

impl LoginError {
    /// Whether the login may work with other scopes.
    #[must_use]
    pub fn is_about_scopes(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "invalid_scope")
    }
}

impl Logins {
    /// Those that are kept in this home folder.
    #[must_use]
    pub fn in_home(home: &Path) -> Self {
        Self {
            file: CredentialsFile::in_home(home),
            settings: LoginSettings::default(),
            pending: Arc::default(),
        }
    }

    /// The same, as configured here.
    #[must_use]
    pub fn with(&self, settings: LoginSettings) -> Self {
        Self {
            settings,
            ..self.clone()
        }
    }

    /// Forgets the login to a server. False if there was none.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub async fn forget(&self, server: &Server) -> io::Result<bool> {
        let Way::Http { url, .. } = &server.way else {
            return Ok(false);
        };
        self.check().map_err(io::Error::other)?;
        let _lock = secret_file::lock(self.file.path()).await;
        self.file.remove(&server.name, url)
    }

    /// Whether there is a login to a server.
    pub(crate) fn has(&self, server: &Server) -> bool {
        let Way::Http { url, .. } = &server.way else {
            return false;
        };
        self.settings.store == LoginStore::File && self.file.find(&server.name, url).is_some()
    }

    /// The tokens for a server, if somebody has logged in.
    pub(crate) fn tokens(&self, server: &Server, caller: Caller) -> Option<Tokens> {
        let Way::Http { url, .. } = &server.way else {
            return None;
        };
        if let Err(problem) = self.check() {
            tracing::warn!(server = server.name, "{problem}");
            return None;
        }
        let login = self.file.find(&server.name, url)?;
        Some(Tokens::new(self.file.clone(), caller, login))
    }

    fn check(&self) -> Result<(), &'static str> {
        match self.settings.store {
            LoginStore::File => Ok(()),
            LoginStore::Keyring => Err("this version cannot use the system's keyring; set \
                                        `mcp_oauth_credentials_store` to `file`"),
        }
    }
}
