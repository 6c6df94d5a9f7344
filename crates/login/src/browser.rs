//! Logging in with a browser: the user proves who they are at the identity server, which sends the browser
//! back to a small server here with a code. Whoever has the code and the secret that only this process
//! knows gets the tokens (authorisation code flow with PKCE).

mod callback;
mod exchange;
mod pages;

use std::io;
use std::sync::Arc;

use codex_http::PkceSecrets;
use codex_protocol::ForcedLoginMethod;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::account_state::PendingLogin;
use crate::accounts::{Accounts, LoginError};
use codex_http::{form, listen, serve};

use callback::LoginCallback;
pub(crate) use exchange::exchange;

/// What a program may ask for.
const SCOPE: &str = "openid profile email offline_access api.connectors.read api.connectors.invoke";

/// How often, and how far apart, a port that somebody else holds is tried.
const PORT_TRIES: u32 = 10;
const PORT_PAUSE: std::time::Duration = std::time::Duration::from_millis(200);

/// How long the browser may take to fetch the last page.
const LAST_PAGE: std::time::Duration = std::time::Duration::from_secs(5);

/// A login that a browser has to finish.
#[derive(Debug)]
pub struct BrowserLogin {
    /// Names it.
    pub id: String,
    /// Where the browser has to go.
    pub auth_url: String,
    /// How it ends.
    pub outcome: oneshot::Receiver<Result<(), String>>,
}

impl Accounts {
    /// Starts a login. One that waits already is given up.
    ///
    /// # Errors
    /// It is not allowed, or there is no port that a browser could come back to.
    pub async fn log_in_with_browser(
        self: &Arc<Self>,
        originator: &str,
    ) -> Result<BrowserLogin, LoginError> {
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

    /// Gives up the login of that name. False if no such login waits.
    pub fn cancel_login(&self, id: &str) -> bool {
        let mut pending = self.pending.lock();
        let cancel = pending.as_mut().filter(|pending| pending.id == id);
        let cancel = cancel.and_then(|pending| pending.cancel.take());
        cancel.is_some_and(|cancel| cancel.send(()).is_ok())
    }

    /// Waits until the browser has the last page of a login that has ended, or gave up on it.
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

    /// Gives up the login that waits. What comes back resolves once its port is free.
    pub(crate) fn cancel_pending(&self) -> Option<oneshot::Receiver<()>> {
        Some(self.set_pending(None)?.released)
    }

    fn set_pending(&self, next: Option<PendingLogin>) -> Option<PendingLogin> {
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
        if let Some(workspace) = &settings.forced_workspace {
            fields.push(("allowed_workspace_id", workspace));
        }
        format!("{}/oauth/authorize?{}", settings.issuer, form(&fields))
    }
}

/// Serves the browser until the login has ended.
async fn run(
    callback: Arc<LoginCallback>,
    listeners: Vec<TcpListener>,
    mut cancelled: oneshot::Receiver<()>,
    tell: oneshot::Sender<Result<(), String>>,
    release: oneshot::Sender<()>,
) {
    let time = callback.accounts.settings.browser_time;
    let (ended, mut end) = mpsc::channel(4);
    let (seen, mut last_page) = mpsc::channel(4);
    let mut serving = Box::pin(serve(callback, listeners, ended, seen));
    let failed = |message: &str| Err(format!("Login server error: {message}"));
    let outcome = tokio::select! {
        outcome = end.recv() => match outcome {
            Some(Ok(())) => Ok(()),
            Some(Err(message)) => failed(&message),
            None => failed("Login was not completed"),
        },
        () = &mut serving => failed("Login was not completed"),
        () = tokio::time::sleep(time) => Err("Login timed out".to_owned()),
        _ = &mut cancelled => failed("Login was not completed"),
    };
    let succeeded = outcome.is_ok();
    let _ = tell.send(outcome);
    if succeeded {
        // The browser is on its way to the page that says so.
        tokio::select! {
            _ = tokio::time::timeout(LAST_PAGE, last_page.recv()) => {}
            () = &mut serving => {}
            _ = &mut cancelled => {}
        }
    }
    // Frees the port before anybody hears of it.
    drop(serving);
    let _ = release.send(());
}

/// Listens, on a port that a login before may have to give up first.
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
