//! The tokens of a login, as requests to its server use them: renewed before they expire, and when the
//! server refuses them.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use codex_http::form;
use codex_private_files::secret_file;
use codex_protocol::Secret;
use reqwest::Url;
use tokio::sync::Mutex;

use super::caller::Caller;
use super::discovery::discover;
use super::file::{CredentialsFile, Login};
use super::replies;

/// How long before their end tokens are renewed.
const AHEAD: Duration = Duration::from_secs(30);
/// How long a server that failed to renew tokens is left in peace.
const PAUSE: Duration = Duration::from_secs(30);

pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// The tokens for one server.
#[derive(Clone, Debug)]
pub(crate) struct Tokens(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    file: CredentialsFile,
    caller: Caller,
    /// Held while the tokens are renewed.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    login: Login,
    renewable: Renewable,
    /// Where tokens are given out, once that is known.
    url: Option<Url>,
}

/// Whether it is worth asking for other tokens in place of these.
#[derive(Clone, Copy, Debug)]
enum Renewable {
    Now,
    /// It failed a moment ago.
    After(Instant),
    /// It was refused.
    Never,
}

/// Why tokens were not renewed.
enum Failure {
    /// It would be no different another time.
    Refused(String),
    Passing(String),
}

impl Tokens {
    pub(super) fn new(file: CredentialsFile, caller: Caller, login: Login) -> Self {
        let state = State {
            login,
            renewable: Renewable::Now,
            url: None,
        };
        Self(Arc::new(Shared {
            file,
            caller,
            state: Mutex::new(state),
        }))
    }

    /// The token for the next request.
    pub(crate) async fn current(&self) -> Secret {
        let state = self.0.state.lock().await;
        let token = state.login.access_token.clone();
        let ahead = now() + u64::try_from(AHEAD.as_millis()).unwrap_or_default();
        let is_old = state.login.expires_at.is_some_and(|end| end <= ahead);
        drop(state);
        if is_old {
            self.renewed(&token).await.unwrap_or(token)
        } else {
            token
        }
    }

    /// The token in place of one that is of no use any more, if there is one.
    pub(crate) async fn renewed(&self, stale: &Secret) -> Option<Secret> {
        let (shared, stale) = (Arc::clone(&self.0), stale.clone());
        // What the server gives in return for the refresh token may not get lost, even if nobody waits.
        let renewal = tokio::spawn(async move { shared.renew(&stale).await });
        renewal.await.ok().flatten()
    }
}

impl Shared {
    async fn renew(&self, stale: &Secret) -> Option<Secret> {
        let mut state = self.state.lock().await;
        if state.login.access_token != *stale {
            return Some(state.login.access_token.clone());
        }
        let _lock = secret_file::lock(self.file.path()).await;
        let (name, url) = (&state.login.server_name, &state.login.server_url);
        let stored = self.file.find(name, url)?;
        if stored.access_token != *stale {
            // Somebody else was faster.
            let token = stored.access_token.clone();
            state.login = stored;
            state.renewable = Renewable::Now;
            return Some(token);
        }
        match state.renewable {
            Renewable::Now => {}
            Renewable::After(moment) if moment <= Instant::now() => {}
            Renewable::After(_) | Renewable::Never => return None,
        }
        match self.ask(&stored, &mut state.url).await {
            Ok(renewed) => {
                if let Err(error) = self.file.save(&renewed) {
                    tracing::warn!(%error, "renewed tokens of an MCP server could not be saved");
                }
                state.login = renewed;
                state.renewable = Renewable::Now;
                Some(state.login.access_token.clone())
            }
            Err(failure) => {
                let (Failure::Refused(why) | Failure::Passing(why)) = &failure;
                tracing::warn!(
                    server = state.login.server_name,
                    "tokens were not renewed: {why}"
                );
                state.renewable = match failure {
                    Failure::Refused(_) => Renewable::Never,
                    Failure::Passing(_) => Renewable::After(Instant::now() + PAUSE),
                };
                None
            }
        }
    }

    async fn ask(&self, login: &Login, url: &mut Option<Url>) -> Result<Login, Failure> {
        let refresh_token = login.refresh_token.as_ref();
        let nothing = || Failure::Refused("there is no refresh token".to_owned());
        let refresh_token = refresh_token.ok_or_else(nothing)?;
        if url.is_none() {
            let found = discover(&self.caller).await.map_err(Failure::Passing)?;
            *url = found.map(|found| found.token);
        }
        let gone = || Failure::Refused("there is no authorization server".to_owned());
        let url = url.as_ref().ok_or_else(gone)?;
        let mut fields = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token.reveal()),
        ];
        let client = client(login, &mut fields);
        let answer = self.caller.post(url, FORM, form(&fields), client).await;
        let mut secrets = vec![refresh_token.reveal()];
        secrets.extend(login.client_secret.as_ref().map(Secret::reveal));
        let answer = answer.map_err(Failure::Passing)?.without(&secrets);
        let given = replies::tokens(&answer).map_err(|why| match answer.status {
            400 | 401 | 403 => Failure::Refused(why),
            _ => Failure::Passing(why),
        })?;
        Ok(Login {
            access_token: given.access_token,
            expires_at: given.expires_in.map(end),
            // What the reply leaves out stays as before.
            refresh_token: given.refresh_token.or_else(|| login.refresh_token.clone()),
            scopes: given.scopes.unwrap_or_else(|| login.scopes.clone()),
            ..login.clone()
        })
    }
}

/// Who this program is: by a proof beside the form, or else in it.
pub(super) fn client<'a>(
    login: &'a Login,
    fields: &mut Vec<(&'static str, &'a str)>,
) -> Option<(&'a str, &'a str)> {
    match &login.client_secret {
        Some(secret) => Some((&login.client_id, secret.reveal())),
        None => {
            fields.push(("client_id", &login.client_id));
            None
        }
    }
}

/// When what is good for so many seconds ends.
pub(super) fn end(seconds: u64) -> u64 {
    now().saturating_add(seconds.saturating_mul(1000))
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default().as_millis();
    u64::try_from(since).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use codex_http::{HttpPool, HttpSettings};
    use reqwest::header::HeaderMap;

    use super::*;

    fn login(token: &str) -> Login {
        Login {
            server_name: "web".to_owned(),
            server_url: "http://127.0.0.1:1/mcp".to_owned(),
            client_id: "client".to_owned(),
            client_secret: None,
            access_token: token.into(),
            expires_at: Some(0),
            refresh_token: None,
            scopes: Vec::new(),
        }
    }

    #[tokio::test]
    async fn tokens_that_another_program_renewed_are_used() {
        let home = tempfile::tempdir().unwrap();
        let file = CredentialsFile::in_home(home.path());
        let http = Arc::new(HttpPool::new(HttpSettings::default()));
        let caller = Caller::new(http, "http://127.0.0.1:1/mcp", HeaderMap::new()).unwrap();
        let tokens = Tokens::new(file.clone(), caller, login("old"));
        // Somebody has logged out.
        assert_eq!(tokens.current().await.reveal(), "old");
        file.save(&login("newer")).unwrap();
        assert_eq!(tokens.current().await.reveal(), "newer");
        file.remove("web", "http://127.0.0.1:1/mcp").unwrap();
        assert_eq!(tokens.renewed(&"newer".into()).await, None);
        assert!(!file.path().exists());
    }
}
