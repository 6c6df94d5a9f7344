//! Login with a browser (authorization code flow with PKCE). The user authenticates at the identity server, which
//! redirects the browser to a local server with a code; the code and the verifier of this process are exchanged for
//! tokens.

mod callback;
mod exchange;
mod pages;

use std::io;
use std::sync::Arc;

use codex_http::PkceSecrets;
use codex_http::{form, listen, serve};
use codex_protocol::ForcedLoginMethod;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::account_state::PendingLogin;
use crate::accounts::{Accounts, LoginError};
use callback::LoginCallback;
pub(crate) use exchange::exchange;

/// The requested scopes.
const SCOPE: &str = "openid profile email offline_access api.connectors.read api.connectors.invoke";

/// How often and at what intervals binding a port is retried that another program holds.
const PORT_TRIES: u32 = 10;
const PORT_PAUSE: std::time::Duration = std::time::Duration::from_millis(200);

/// How long the browser may take to fetch the final page.
const LAST_PAGE: std::time::Duration = std::time::Duration::from_secs(5);

/// A login that the user has to finish in a browser.
#[derive(Debug)]
pub struct BrowserLogin {
    pub id: String,
    /// The page to open in the browser.
    pub auth_url: String,
    /// Receives the result of the login.
    pub outcome: oneshot::Receiver<Result<(), BrowserLoginError>>,
}

/// Why a login with a browser failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrowserLoginError {
    /// The user did not finish it in time.
    #[error("Login timed out")]
    TimedOut,
    /// It was cancelled or replaced by another login.
    #[error("Login server error: Login was not completed")]
    NotCompleted,
    /// The identity server refused, or the tokens could not be obtained or stored.
    #[error("Login server error: {0}")]
    Failed(String),
}

impl Accounts {
    /// Starts a login. A pending login is cancelled.
    ///
    /// # Errors
    /// The login is not allowed, or the callback port is not available.
    pub async fn log_in_with_browser(
        self: &Arc<Self>,
        originator: &str,
    ) -> Result<BrowserLogin, LoginError> {
        self.refuse_without_restrictions()?;
        self.refuse_beside_external()?;
        if self.settings.forced_method == Some(ForcedLoginMethod::Api) {
            let text = "ChatGPT login is disabled. Use API key login instead.";
            return Err(LoginError::Refused(text.to_owned()));
        }
        if let Some(released) = self.cancel_pending() {
            let _ = released.await;
        }
        let failed = |why| LoginError::Failed(format!("failed to start login server: {why}"));
        let bound = bind(self.settings.callback_port).await;
        let (port, listeners) = bound.map_err(failed)?;
        let secrets = PkceSecrets::new().map_err(|error| failed(error.to_string()))?;
        let callback = LoginCallback {
            accounts: Arc::clone(self),
            redirect_uri: format!("http://localhost:{port}/auth/callback"),
            secrets,
        };
        let auth_url = callback.auth_url(originator);
        let (cancel, cancelled) = oneshot::channel();
        let (tell, outcome) = oneshot::channel();
        let (release, released) = oneshot::channel();
        let id = Uuid::new_v4().to_string();
        self.set_pending(Some(PendingLogin {
            id: id.clone(),
            cancel: Some(cancel),
            released,
        }));
        tokio::spawn(run(Arc::new(callback), listeners, cancelled, tell, release));
        Ok(BrowserLogin {
            id,
            auth_url,
            outcome,
        })
    }

    /// Cancels a pending login. False if there is none with this id.
    pub fn cancel_login(&self, id: &str) -> bool {
        let mut pending = self.pending.lock();
        let cancel = pending.as_mut().filter(|pending| pending.id == id);
        let cancel = cancel.and_then(|pending| pending.cancel.take());
        cancel.is_some_and(|cancel| cancel.send(()).is_ok())
    }

    /// After a login: waits until the browser has fetched the final page or stopped trying.
    pub async fn wait_for_last_page(&self) {
        if let Some(PendingLogin {
            cancel: _kept,
            released,
            ..
        }) = self.set_pending(None)
        {
            let _ = released.await;
        }
    }

    /// Cancels the pending login. The receiver resolves once the callback port is free.
    pub(crate) fn cancel_pending(&self) -> Option<oneshot::Receiver<()>> {
        Some(self.set_pending(None)?.released)
    }

    pub(crate) fn set_pending(&self, next: Option<PendingLogin>) -> Option<PendingLogin> {
        let mut pending = self.pending.lock();
        std::mem::replace(&mut pending, next)
    }
}

impl LoginCallback {
    fn auth_url(&self, originator: &str) -> String {
        let settings = &self.accounts.settings;
        let challenge = self.secrets.challenge();
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", &settings.client_id),
            ("redirect_uri", &self.redirect_uri),
            ("scope", SCOPE),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("id_token_add_organizations", "true"),
            ("codex_cli_simplified_flow", "true"),
            ("state", &self.secrets.state),
            ("originator", originator),
        ];
        let workspaces = settings.forced_workspaces.join(",");
        if !workspaces.is_empty() {
            fields.push(("allowed_workspace_id", &workspaces));
        }
        format!("{}/oauth/authorize?{}", settings.issuer, form(&fields))
    }
}

/// Serves the callback until the login has ended.
async fn run(
    callback: Arc<LoginCallback>,
    listeners: Vec<TcpListener>,
    mut cancelled: oneshot::Receiver<()>,
    tell: oneshot::Sender<Result<(), BrowserLoginError>>,
    release: oneshot::Sender<()>,
) {
    let time = callback.accounts.settings.browser_time;
    let (ended, mut end) = mpsc::channel(4);
    let (seen, mut last_page) = mpsc::channel(4);
    let mut serving = Box::pin(serve(callback, listeners, ended, seen));
    let outcome = tokio::select! {
        outcome = end.recv() => match outcome {
            Some(outcome) => outcome.map_err(BrowserLoginError::Failed),
            None => Err(BrowserLoginError::NotCompleted),
        },
        () = &mut serving => Err(BrowserLoginError::NotCompleted),
        () = tokio::time::sleep(time) => Err(BrowserLoginError::TimedOut),
        _ = &mut cancelled => Err(BrowserLoginError::NotCompleted),
    };
    let succeeded = outcome.is_ok();
    let _ = tell.send(outcome);
    if succeeded {
        // The browser still needs to fetch the page that reports the success.
        tokio::select! {
            _ = tokio::time::timeout(LAST_PAGE, last_page.recv()) => {}
            () = &mut serving => {}
            _ = &mut cancelled => {}
        }
    }
    // Frees the port before `release` announces that.
    drop(serving);
    let _ = release.send(());
}

/// Binds the callback port. A login of another process that holds it is asked to stop.
async fn bind(port: u16) -> Result<(u16, Vec<TcpListener>), String> {
    let mut asked = false;
    for _ in 0..PORT_TRIES {
        match listen(port).await {
            Ok(bound) => return Ok(bound),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                if !asked {
                    callback::ask_to_cancel(port).await;
                    asked = true;
                }
                tokio::time::sleep(PORT_PAUSE).await;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    Err(format!("Port 127.0.0.1:{port} is already in use"))
}
