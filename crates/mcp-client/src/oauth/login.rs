//! The login flow: registers this program at the authorization server, lets the user log in with a browser, and
//! exchanges the code of the callback for tokens.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use codex_http::{CallbackReply, CallbackSite, PkceSecrets, form, listen, parameters, serve};
use codex_private_files::secret_file;
use codex_protocol::Secret;
use reqwest::{StatusCode, Url};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::client::OAuthClient;
use super::credentials_file::{CredentialsFile, StoredLogin, key};
use super::discovery::{AuthorizationServer, TokenEndpoint, discover_or_assume};
use super::tokens::{FORM, client, end};
use super::{McpLoginError, McpLoginOptions, McpLoginSettings, McpLogins, replies};
use crate::config::{McpServerConfig, McpServerTransport};

/// A login that the user has to finish in a browser.
#[derive(Debug)]
pub struct StartedMcpLogin {
    /// The page to open in the browser.
    pub authorization_url: String,
    /// Whether the requested scopes are those that the authorization server offers, not configured ones.
    pub has_offered_scopes: bool,
    /// Receives the result of the login.
    pub outcome: oneshot::Receiver<Result<(), McpLoginError>>,
}

/// A login that waits for the user.
#[derive(Debug)]
pub(super) struct PendingMcpLogin {
    give_up: CancellationToken,
    /// Ends once the callback port is free again.
    task: JoinHandle<()>,
}

impl McpLogins {
    /// Starts a login. A pending login to the same server is cancelled.
    pub(crate) async fn begin(
        &self,
        server: &McpServerConfig,
        oauth_client: OAuthClient,
        options: McpLoginOptions,
    ) -> Result<StartedMcpLogin, McpLoginError> {
        let McpServerTransport::Http {
            url,
            scopes,
            resource,
            client,
            ..
        } = &server.transport
        else {
            return Err(McpLoginError::Program);
        };
        self.check().map_err(failed)?;
        let key = key(&server.name, url);
        self.give_up(&key).await;
        let none = "No authorization support detected";
        let found = discover_or_assume(&oauth_client)
            .await
            .map_err(|why| failed(format!("{none}: {why}")))?
            .ok_or_else(|| failed(none))?;
        let configured = client
            .as_ref()
            .and_then(|client| client.callback_url.as_deref());
        let back = CallbackAddress::from_settings(&self.settings, configured)?;
        let bound = listen(back.port).await;
        let (port, listeners) = bound
            .map_err(|error| failed(format!("cannot listen on port {}: {error}", back.port)))?;
        let redirect_uri = back.redirect_uri(port);
        let registered = client.as_ref().filter(|_| !options.registers_itself);
        let client = match registered.and_then(|client| Some((client.id.clone()?, client))) {
            Some((id, client)) => client_with(id, client.secret.clone()),
            None => register_client(&oauth_client, &found, &redirect_uri).await?,
        };
        let demanded = self.demanded.lock().get(&key).cloned();
        let asked = options.scopes.or(demanded).or_else(|| scopes.clone());
        let has_offered_scopes = asked.is_none() && !found.scopes.is_empty();
        let resource = resource
            .clone()
            .filter(|resource| !resource.trim().is_empty())
            .or(found.resource);
        let issuer = ExpectedIssuer {
            name: found.issuer,
            is_named_in_callbacks: found.names_itself,
        };
        let callback = OAuthCallback {
            secrets: PkceSecrets::new().map_err(|error| failed(error.to_string()))?,
            path: back.path,
            redirect_uri,
            resource,
            issuer,
            token: found.token,
            file: self.file.clone(),
            oauth_client,
            login: StoredLogin {
                server_name: server.name.clone(),
                server_url: url.clone(),
                ..client
            },
        };
        let scopes = asked.unwrap_or(found.scopes);
        let authorization_url = callback.authorization_url(found.authorization, &scopes);
        let outcome = self.wait_for_callback(key, callback, listeners, options.time);
        Ok(StartedMcpLogin {
            authorization_url,
            has_offered_scopes,
            outcome,
        })
    }

    /// Serves the callback in a task until the login ends, and registers the login as pending.
    fn wait_for_callback(
        &self,
        key: String,
        callback: OAuthCallback,
        listeners: Vec<TcpListener>,
        time_limit: Duration,
    ) -> oneshot::Receiver<Result<(), McpLoginError>> {
        let (tell, outcome) = oneshot::channel();
        let give_up = CancellationToken::new();
        let given_up = give_up.clone();
        let (demanded, of_server) = (Arc::clone(&self.demanded), key.clone());
        let task = tokio::spawn(async move {
            let outcome = {
                let (ended, mut end) = mpsc::channel(4);
                let (seen, _) = mpsc::channel(1);
                tokio::select! {
                    biased;
                    Some(outcome) = end.recv() => outcome,
                    () = serve(Arc::new(callback), listeners, ended, seen) => {
                        Err(failed("nobody listens for the OAuth callback any more"))
                    }
                    () = tokio::time::sleep(time_limit) => {
                        Err(failed("timed out waiting for OAuth callback"))
                    }
                    () = given_up.cancelled() => Err(failed("another login took its place")),
                }
            };
            if outcome.is_ok() {
                demanded.lock().remove(&of_server);
            }
            let _ = tell.send(outcome);
        });
        let login = PendingMcpLogin { give_up, task };
        if let Some(other) = self.pending.lock().insert(key, login) {
            // Another login to the same server was started at the same time.
            other.give_up.cancel();
        }
        outcome
    }

    async fn give_up(&self, key: &str) {
        let pending = self.pending.lock().remove(key);
        if let Some(PendingMcpLogin { give_up, task }) = pending {
            give_up.cancel();
            let _ = task.await;
        }
    }
}

/// The address of the login's callback.
struct CallbackAddress {
    /// The port on this machine; 0 for any free port.
    port: u16,
    path: String,
    /// The configured redirect URI.
    announced: Option<String>,
}

impl CallbackAddress {
    /// Listens only on the loopback interface, whatever the redirect URI is: forwarding to this machine is up to
    /// who configured it.
    ///
    /// `configured` is the address for one server. If it is on this machine and has no port, any port is used, as
    /// authorization servers allow it for such addresses.
    fn from_settings(
        settings: &McpLoginSettings,
        configured: Option<&str>,
    ) -> Result<Self, McpLoginError> {
        let port = settings.callback_port.map(NonZeroU16::get);
        if let Some(text) = configured {
            let url = Url::parse(text);
            let url = url.map_err(|error| {
                failed(format!(
                    "`oauth.callback_url` of the server is no address: {error}"
                ))
            })?;
            let is_here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
            let is_open = is_here && url.scheme() == "http" && url.port().is_none();
            return Ok(Self {
                port: url.port().filter(|_| is_here).or(port).unwrap_or(0),
                path: url.path().to_owned(),
                announced: (!is_open).then(|| text.to_owned()),
            });
        }
        let Some(text) = &settings.callback_url else {
            return Ok(Self {
                port: port.unwrap_or(0),
                path: "/callback".to_owned(),
                announced: None,
            });
        };
        let url = Url::parse(text);
        let url = url
            .map_err(|error| failed(format!("`mcp_oauth_callback_url` is no address: {error}")))?;
        let is_here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        Ok(Self {
            port: port.or(url.port().filter(|_| is_here)).unwrap_or(0),
            path: url.path().to_owned(),
            announced: Some(text.clone()),
        })
    }

    fn redirect_uri(&self, port: u16) -> String {
        let own = || format!("http://127.0.0.1:{port}{}", self.path);
        self.announced.clone().unwrap_or_else(own)
    }
}

/// Registers this program. The login that is returned has a client id, but no tokens yet.
async fn register_client(
    oauth_client: &OAuthClient,
    found: &AuthorizationServer,
    redirect_uri: &str,
) -> Result<StoredLogin, McpLoginError> {
    let refused = |why: &str| failed(format!("cannot register: {why}"));
    let url = found.registration.as_ref();
    let url = url.ok_or_else(|| refused("Dynamic client registration not supported"))?;
    let body = json!({
        "client_name": "Codex",
        "application_type": "native",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": found.token.method_of_new_client(),
        "response_types": ["code"],
    });
    let answer = oauth_client
        .post(url, "application/json", body.to_string(), None)
        .await;
    let answer = answer.map_err(|why| refused(&why))?;
    let json = replies::success(&answer).map_err(|why| refused(&why))?;
    let text = |name: &str| json[name].as_str().filter(|text| !text.is_empty());
    let id =
        text("client_id").ok_or_else(|| refused("the authorization server gives no client id"))?;
    let secret = text("client_secret").map(Secret::from);
    Ok(client_with(id.to_owned(), secret))
}

/// A login with this client, without tokens.
fn client_with(id: String, secret: Option<Secret>) -> StoredLogin {
    StoredLogin {
        server_name: String::new(),
        server_url: String::new(),
        client_id: id,
        client_secret: secret,
        access_token: "".into(),
        expires_at: None,
        refresh_token: None,
        scopes: Vec::new(),
    }
}

/// Who sends the browser to the callback. Another authorization server is refused, so that the code of one login is not
/// sent to the token endpoint of another one.
struct ExpectedIssuer {
    name: Option<String>,
    is_named_in_callbacks: bool,
}

impl ExpectedIssuer {
    fn accepts(&self, named: Option<&str>) -> bool {
        match (named, &self.name) {
            (Some(named), Some(expected)) => named == expected,
            (Some(_), None) => true,
            (None, _) => !self.is_named_in_callbacks,
        }
    }
}

/// Serves the callback of one login.
struct OAuthCallback {
    secrets: PkceSecrets,
    path: String,
    redirect_uri: String,
    resource: Option<String>,
    issuer: ExpectedIssuer,
    token: TokenEndpoint,
    file: CredentialsFile,
    oauth_client: OAuthClient,
    /// The login without its tokens.
    login: StoredLogin,
}

impl OAuthCallback {
    fn authorization_url(&self, mut url: Url, scopes: &[String]) -> String {
        let challenge = self.secrets.challenge();
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.login.client_id)
            .append_pair("state", &self.secrets.state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("redirect_uri", &self.redirect_uri);
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.join(" "));
        }
        if let Some(resource) = &self.resource {
            query.append_pair("resource", resource);
        }
        drop(query);
        url.into()
    }

    /// Exchanges a code for tokens and stores the login.
    async fn exchange(&self, code: &str) -> Result<(), String> {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", &self.secrets.verifier),
            ("redirect_uri", &self.redirect_uri),
        ];
        if let Some(resource) = &self.resource {
            fields.push(("resource", resource));
        }
        let client = client(&self.login, &self.token, &mut fields);
        let sent = self
            .oauth_client
            .post(&self.token.url, FORM, form(&fields), client);
        let mut secrets = vec![code, &self.secrets.verifier];
        secrets.extend(self.login.client_secret.as_ref().map(Secret::reveal));
        let given = replies::tokens(&sent.await?.without(&secrets))?;
        let login = StoredLogin {
            access_token: given.access_token,
            refresh_token: given.refresh_token,
            expires_at: given.expires_in.map(end),
            scopes: given.scopes.unwrap_or_default(),
            ..self.login.clone()
        };
        let _lock = secret_file::lock(self.file.path()).await;
        let saved = self.file.save(&login);
        saved.map_err(|error| format!("the login could not be stored: {error}"))
    }
}

impl CallbackSite for OAuthCallback {
    type Failure = McpLoginError;

    async fn reply(&self, target: &str) -> CallbackReply<McpLoginError> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parameters = parameters(query);
        let get = |name: &str| {
            let found = parameters.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        let is_ours = get("state") == Some(&self.secrets.state);
        // Some authorization servers send a refusal without `state`. A forged refusal only ends the login.
        let may_refuse = is_ours || get("state").is_none();
        match (get("code"), get("error")) {
            _ if path != self.path => unrelated_request(),
            _ if is_ours && !self.issuer.accepts(get("iss")) => end_with(failed(
                "the callback comes from another authorization server",
            )),
            (_, Some(error)) if may_refuse => end_with(McpLoginError::Refused {
                code: replies::readable(error),
                description: get("error_description").map(replies::readable),
            }),
            (Some(code), None) if is_ours => match self.exchange(code).await {
                Ok(()) => CallbackReply {
                    end: Some(Ok(())),
                    ..CallbackReply::text(
                        StatusCode::OK,
                        "Authentication complete. You may close this window.",
                    )
                },
                Err(why) => end_with(failed(format!("failed to handle OAuth callback: {why}"))),
            },
            _ => unrelated_request(),
        }
    }
}

/// The reply to requests that do not belong to the login.
fn unrelated_request() -> CallbackReply<McpLoginError> {
    CallbackReply::text(StatusCode::BAD_REQUEST, "Invalid OAuth callback")
}

fn end_with(error: McpLoginError) -> CallbackReply<McpLoginError> {
    CallbackReply {
        end: Some(Err(error.clone())),
        ..CallbackReply::text(StatusCode::BAD_REQUEST, &error.to_string())
    }
}

fn failed(why: impl Into<String>) -> McpLoginError {
    McpLoginError::Failed(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(port: Option<u16>, url: Option<&str>) -> Result<(u16, String), McpLoginError> {
        let settings = McpLoginSettings {
            callback_port: port.and_then(NonZeroU16::new),
            callback_url: url.map(str::to_owned),
            ..McpLoginSettings::default()
        };
        let back = CallbackAddress::from_settings(&settings, None)?;
        Ok((back.port, back.redirect_uri(1)))
    }

    #[test]
    fn callbacks_of_other_authorization_servers_are_refused() {
        let issuer = |name: Option<&str>, is_named_in_callbacks| ExpectedIssuer {
            name: name.map(str::to_owned),
            is_named_in_callbacks,
        };
        let known = issuer(Some("https://a"), true);
        assert!(known.accepts(Some("https://a")));
        assert!(!known.accepts(Some("https://a/")));
        assert!(!known.accepts(Some("https://b")));
        assert!(!known.accepts(None));
        assert!(issuer(Some("https://a"), false).accepts(None));
        assert!(!issuer(Some("https://a"), false).accepts(Some("https://b")));
        assert!(issuer(None, false).accepts(Some("https://b")));
    }

    #[test]
    fn browsers_come_back_to_the_announced_address() {
        let table = [
            (None, None, (0, "http://127.0.0.1:1/callback")),
            (Some(5), None, (5, "http://127.0.0.1:1/callback")),
            (
                None,
                Some("http://localhost:7/x"),
                (7, "http://localhost:7/x"),
            ),
            (
                Some(5),
                Some("http://localhost:7/x"),
                (5, "http://localhost:7/x"),
            ),
            (None, Some("https://h:7/x?y"), (0, "https://h:7/x?y")),
        ];
        for (port, url, (listened, announced)) in table {
            assert_eq!(back(port, url), Ok((listened, announced.to_owned())));
        }
        assert!(back(None, Some("x")).is_err());
    }

    #[test]
    fn a_server_has_an_address_of_its_own() {
        let other = McpLoginSettings {
            callback_port: NonZeroU16::new(5),
            callback_url: Some("http://localhost:7/x".to_owned()),
            ..McpLoginSettings::default()
        };
        let back = |url: &str| {
            let back = CallbackAddress::from_settings(&other, Some(url)).unwrap();
            (back.port, back.redirect_uri(1))
        };
        let expected = |port: u16, url: &str| (port, url.to_owned());
        assert_eq!(
            back("http://127.0.0.1/callback/a"),
            expected(5, "http://127.0.0.1:1/callback/a")
        );
        assert_eq!(
            back("http://127.0.0.1:8/a"),
            expected(8, "http://127.0.0.1:8/a")
        );
        assert_eq!(back("https://h/a"), expected(5, "https://h/a"));
        assert!(CallbackAddress::from_settings(&other, Some("x")).is_err());
    }
}
