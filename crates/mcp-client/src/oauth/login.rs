//! Logging in: this program introduces itself to the authorisation server, a person says yes there, and
//! the browser comes back here with a code, which becomes tokens.

use std::num::NonZeroU16;
use std::sync::Arc;

use codex_http::{CallbackReply, CallbackSite, PkceSecrets, form, listen, parameters, serve};
use codex_private_files::secret_file;
use codex_protocol::Secret;
use reqwest::{StatusCode, Url};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::caller::Caller;
use super::discovery::{AuthorizationServer, discover};
use super::file::{CredentialsFile, Login, key};
use super::tokens::{FORM, client, end};
use super::{LoginError, LoginOptions, LoginSettings, Logins, replies};
use crate::server::{Server, Way};

/// A login that a person has to finish in a browser.
#[derive(Debug)]
pub struct StartedLogin {
    /// Where the browser has to go.
    pub authorization_url: String,
    /// Whether the scopes that are asked for are those that the authorisation server offers.
    pub has_offered_scopes: bool,
    /// How it ends.
    pub outcome: oneshot::Receiver<Result<(), LoginError>>,
}

/// A login that waits for a person.
#[derive(Debug)]
pub(super) struct Pending {
    give_up: CancellationToken,
    /// Ends once its port is free again.
    task: JoinHandle<()>,
}

impl Logins {
    /// Begins a login. One to the same server that waits already is given up.
    pub(crate) async fn begin(
        &self,
        server: &Server,
        caller: Caller,
        options: LoginOptions,
    ) -> Result<StartedLogin, LoginError> {
        let Way::Http {
            url,
            scopes,
            resource,
            ..
        } = &server.way
        else {
            return Err(LoginError::Program);
        };
        self.check().map_err(failed)?;
        let key = key(&server.name, url);
        self.give_up(&key).await;
        let none = "No authorization support detected";
        let found = discover(&caller).await;
        let found = found.map_err(|why| failed(format!("{none}: {why}")))?;
        let found = found.ok_or_else(|| failed(none))?;
        let back = CallbackAddress::of(&self.settings)?;
        let bound = listen(back.port).await;
        let (port, listeners) = bound
            .map_err(|error| failed(format!("cannot listen on port {}: {error}", back.port)))?;
        let redirect_uri = back.redirect_uri(port);
        let client = introduce(&caller, &found, &redirect_uri).await?;
        let asked = options.scopes.or_else(|| scopes.clone());
        let has_offered_scopes = asked.is_none() && !found.scopes.is_empty();
        let resource = resource
            .clone()
            .filter(|resource| !resource.trim().is_empty());
        let callback = OAuthCallback {
            secrets: PkceSecrets::new().map_err(|error| failed(error.to_string()))?,
            path: back.path,
            redirect_uri,
            resource,
            token: found.token,
            file: self.file.clone(),
            caller,
            login: Login {
                server_name: server.name.clone(),
                server_url: url.clone(),
                ..client
            },
        };
        let scopes = asked.unwrap_or(found.scopes);
        let authorization_url = callback.authorization_url(found.authorization, &scopes);
        let (tell, outcome) = oneshot::channel();
        let give_up = CancellationToken::new();
        let given_up = give_up.clone();
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
                    () = tokio::time::sleep(options.time) => {
                        Err(failed("timed out waiting for OAuth callback"))
                    }
                    () = given_up.cancelled() => Err(failed("another login took its place")),
                }
            };
            let _ = tell.send(outcome);
        });
        let beside = self.pending.lock().insert(key, Pending { give_up, task });
        if let Some(Pending { give_up, .. }) = beside {
            // It was begun at the same time.
            give_up.cancel();
        }
        Ok(StartedLogin {
            authorization_url,
            has_offered_scopes,
            outcome,
        })
    }

    async fn give_up(&self, key: &str) {
        let pending = self.pending.lock().remove(key);
        if let Some(Pending { give_up, task }) = pending {
            give_up.cancel();
            let _ = task.await;
        }
    }
}

/// Where the browser comes back.
struct CallbackAddress {
    /// The port here; 0 for any.
    port: u16,
    path: String,
    /// What the authorization server gets in place of the address here.
    announced: Option<String>,
}

impl CallbackAddress {
    /// Whatever is announced, only this machine is listened to: what leads here from elsewhere is
    /// for whoever set it up.
    fn of(settings: &LoginSettings) -> Result<Self, LoginError> {
        let port = settings.callback_port.map(NonZeroU16::get);
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

/// Introduces this program. What comes back has its name there and no tokens yet.
async fn introduce(
    caller: &Caller,
    found: &AuthorizationServer,
    redirect_uri: &str,
) -> Result<Login, LoginError> {
    let refused = |why: &str| failed(format!("cannot register: {why}"));
    let url = found.registration.as_ref();
    let url = url.ok_or_else(|| refused("Dynamic client registration not supported"))?;
    let body = json!({
        "client_name": "Codex",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
        "response_types": ["code"],
    });
    let answer = caller
        .post(url, "application/json", body.to_string(), None)
        .await;
    let answer = answer.map_err(|why| refused(&why))?;
    let json = replies::success(&answer).map_err(|why| refused(&why))?;
    let text = |name: &str| json[name].as_str().filter(|text| !text.is_empty());
    let id =
        text("client_id").ok_or_else(|| refused("the authorization server gives no client id"))?;
    Ok(Login {
        server_name: String::new(),
        server_url: String::new(),
        client_id: id.to_owned(),
        client_secret: text("client_secret").map(Secret::from),
        access_token: "".into(),
        expires_at: None,
        refresh_token: None,
        scopes: Vec::new(),
    })
}

/// What comes back belongs to this.
struct OAuthCallback {
    secrets: PkceSecrets,
    path: String,
    redirect_uri: String,
    resource: Option<String>,
    /// Where a code becomes tokens.
    token: Url,
    file: CredentialsFile,
    caller: Caller,
    /// The login to be, without its tokens.
    login: Login,
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

    /// From a code to a stored login.
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
        let client = client(&self.login, &mut fields);
        let sent = self.caller.post(&self.token, FORM, form(&fields), client);
        let mut secrets = vec![code, &self.secrets.verifier];
        secrets.extend(self.login.client_secret.as_ref().map(Secret::reveal));
        let given = replies::tokens(&sent.await?.without(&secrets))?;
        let login = Login {
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
    type Failure = LoginError;

    async fn reply(&self, target: &str) -> CallbackReply<LoginError> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parameters = parameters(query);
        let get = |name: &str| {
            let found = parameters.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        let is_ours = get("state") == Some(&self.secrets.state);
        // Some servers refuse without saying whom. Nothing comes of a refusal but the end of the login.
        let may_refuse = is_ours || get("state").is_none();
        match (get("code"), get("error")) {
            _ if path != self.path => not_expected(),
            (_, Some(error)) if may_refuse => ending(LoginError::Refused {
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
                Err(why) => ending(failed(format!("failed to handle OAuth callback: {why}"))),
            },
            _ => not_expected(),
        }
    }
}

/// To somebody else than the browser that the login waits for.
fn not_expected() -> CallbackReply<LoginError> {
    CallbackReply::text(StatusCode::BAD_REQUEST, "Invalid OAuth callback")
}

fn ending(error: LoginError) -> CallbackReply<LoginError> {
    CallbackReply {
        end: Some(Err(error.clone())),
        ..CallbackReply::text(StatusCode::BAD_REQUEST, &error.to_string())
    }
}

fn failed(why: impl Into<String>) -> LoginError {
    LoginError::Failed(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(port: Option<u16>, url: Option<&str>) -> Result<(u16, String), LoginError> {
        let back = CallbackAddress::of(&LoginSettings {
            callback_port: port.and_then(NonZeroU16::new),
            callback_url: url.map(str::to_owned),
            ..LoginSettings::default()
        })?;
        Ok((back.port, back.redirect_uri(1)))
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
}
