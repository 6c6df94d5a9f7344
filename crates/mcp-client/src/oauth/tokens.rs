//! The tokens of a login. They are renewed before they expire, and when the server refuses them.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use codex_http::form;
use codex_private_files::secret_file;
use codex_protocol::Secret;
use tokio::sync::Mutex;

use super::client::OAuthClient;
use super::credentials_file::{CredentialsFile, StoredLogin};
use super::discovery::{TokenEndpoint, discover_or_assume};
use super::replies;

/// How long before their expiry tokens are renewed.
const RENEWAL_MARGIN: Duration = Duration::from_secs(30);
/// How long no renewal is attempted after one that failed.
const RETRY_DELAY: Duration = Duration::from_secs(30);

pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// The tokens for one server.
#[derive(Clone, Debug)]
pub(crate) struct LoginTokens(Arc<TokenRenewal>);

#[derive(Debug)]
struct TokenRenewal {
    file: CredentialsFile,
    oauth_client: OAuthClient,
    /// Locked during a renewal.
    state: Mutex<CurrentTokens>,
}

#[derive(Debug)]
struct CurrentTokens {
    login: StoredLogin,
    renewal_state: RenewalState,
    /// The token endpoint and the resource that tokens are for, once they were discovered.
    endpoint: Option<(TokenEndpoint, Option<String>)>,
}

/// Whether a renewal may be attempted.
#[derive(Clone, Copy, Debug)]
enum RenewalState {
    Now,
    /// A renewal failed recently.
    After(Instant),
    /// A renewal was refused.
    Never,
}

enum RenewalError {
    /// Another attempt would be refused too.
    Refused(String),
    Passing(String),
}

impl LoginTokens {
    pub(super) fn new(
        file: CredentialsFile,
        oauth_client: OAuthClient,
        login: StoredLogin,
    ) -> Self {
        let state = CurrentTokens {
            login,
            renewal_state: RenewalState::Now,
            endpoint: None,
        };
        Self(Arc::new(TokenRenewal {
            file,
            oauth_client,
            state: Mutex::new(state),
        }))
    }

    /// The token for the next request. Renewed first if it is about to expire.
    pub(crate) async fn current(&self) -> Secret {
        let state = self.0.state.lock().await;
        let token = state.login.access_token.clone();
        let ahead = now() + u64::try_from(RENEWAL_MARGIN.as_millis()).unwrap_or_default();
        let is_old = state.login.expires_at.is_some_and(|end| end <= ahead);
        drop(state);
        if is_old {
            self.renewed(&token).await.unwrap_or(token)
        } else {
            token
        }
    }

    /// A token that replaces `stale`, if there is one.
    pub(crate) async fn renewed(&self, stale: &Secret) -> Option<Secret> {
        let (renewal, stale) = (Arc::clone(&self.0), stale.clone());
        // A refresh token is good for one use, so the renewal must complete even if the caller is dropped.
        let renewal = tokio::spawn(async move { renewal.renew(&stale).await });
        renewal.await.ok().flatten()
    }
}

impl TokenRenewal {
    async fn renew(&self, stale: &Secret) -> Option<Secret> {
        let mut state = self.state.lock().await;
        if state.login.access_token != *stale {
            return Some(state.login.access_token.clone());
        }
        let _lock = secret_file::lock(self.file.path()).await;
        let (name, url) = (&state.login.server_name, &state.login.server_url);
        let stored = self.file.find(name, url)?;
        if stored.access_token != *stale {
            // Another process has renewed the tokens.
            let token = stored.access_token.clone();
            state.login = stored;
            state.renewal_state = RenewalState::Now;
            return Some(token);
        }
        match state.renewal_state {
            RenewalState::Now => {}
            RenewalState::After(moment) if moment <= Instant::now() => {}
            RenewalState::After(_) | RenewalState::Never => return None,
        }
        match self.ask(&stored, &mut state.endpoint).await {
            Ok(renewed) => {
                if let Err(error) = self.file.save(&renewed) {
                    tracing::warn!(%error, "renewed tokens of an MCP server could not be saved");
                }
                state.login = renewed;
                state.renewal_state = RenewalState::Now;
                Some(state.login.access_token.clone())
            }
            Err(failure) => {
                let (RenewalError::Refused(why) | RenewalError::Passing(why)) = &failure;
                tracing::warn!(
                    server = state.login.server_name,
                    "tokens were not renewed: {why}"
                );
                state.renewal_state = match failure {
                    RenewalError::Refused(_) => RenewalState::Never,
                    RenewalError::Passing(_) => RenewalState::After(Instant::now() + RETRY_DELAY),
                };
                None
            }
        }
    }

    async fn ask(
        &self,
        login: &StoredLogin,
        endpoint: &mut Option<(TokenEndpoint, Option<String>)>,
    ) -> Result<StoredLogin, RenewalError> {
        let refresh_token = login.refresh_token.as_ref();
        let nothing = || RenewalError::Refused("there is no refresh token".to_owned());
        let refresh_token = refresh_token.ok_or_else(nothing)?;
        if endpoint.is_none() {
            let found = discover_or_assume(&self.oauth_client)
                .await
                .map_err(RenewalError::Passing)?;
            *endpoint = found.map(|found| (found.token, found.resource));
        }
        let gone = || RenewalError::Refused("there is no authorization server".to_owned());
        let (token, resource) = endpoint.as_ref().ok_or_else(gone)?;
        let mut fields = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token.reveal()),
        ];
        if let Some(resource) = resource {
            fields.push(("resource", resource));
        }
        let client = client(login, token, &mut fields);
        let answer = self
            .oauth_client
            .post(&token.url, FORM, form(&fields), client)
            .await;
        let mut secrets = vec![refresh_token.reveal()];
        secrets.extend(login.client_secret.as_ref().map(Secret::reveal));
        let answer = answer.map_err(RenewalError::Passing)?.without(&secrets);
        let given = replies::tokens(&answer).map_err(|why| match answer.status {
            400 | 401 | 403 => RenewalError::Refused(why),
            _ => RenewalError::Passing(why),
        })?;
        Ok(StoredLogin {
            access_token: given.access_token,
            expires_at: given.expires_in.map(end),
            // What the reply leaves out stays unchanged.
            refresh_token: given.refresh_token.or_else(|| login.refresh_token.clone()),
            scopes: given.scopes.unwrap_or_else(|| login.scopes.clone()),
            ..login.clone()
        })
    }
}

/// Adds the client's identity: with a secret as basic authentication if the endpoint takes it, otherwise as fields of the
/// form.
pub(super) fn client<'a>(
    login: &'a StoredLogin,
    endpoint: &TokenEndpoint,
    fields: &mut Vec<(&'static str, &'a str)>,
) -> Option<(&'a str, &'a str)> {
    let secret = login.client_secret.as_ref().map(Secret::reveal);
    match secret {
        Some(secret) if !endpoint.takes_secret_in_form() => Some((&login.client_id, secret)),
        _ => {
            fields.push(("client_id", &login.client_id));
            fields.extend(secret.map(|secret| ("client_secret", secret)));
            None
        }
    }
}

/// The time of expiry, in milliseconds since 1970.
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

    fn login(token: &str) -> StoredLogin {
        StoredLogin {
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
        let oauth_client =
            OAuthClient::new(http, "http://127.0.0.1:1/mcp", HeaderMap::new()).unwrap();
        let tokens = LoginTokens::new(file.clone(), oauth_client, login("old"));
        // The login was deleted.
        assert_eq!(tokens.current().await.reveal(), "old");
        file.save(&login("newer")).unwrap();
        assert_eq!(tokens.current().await.reveal(), "newer");
        file.remove("web", "http://127.0.0.1:1/mcp").unwrap();
        assert_eq!(tokens.renewed(&"newer".into()).await, None);
        assert!(!file.path().exists());
    }
}
