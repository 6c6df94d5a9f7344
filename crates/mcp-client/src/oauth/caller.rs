//! Requests that belong to a login: to the server itself, and to whoever it names.

use std::sync::Arc;
use std::time::Duration;

use codex_http::{BoundedReply, HttpPool, fetch};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, RequestBuilder, Url};

/// How long a question about logins may take.
const QUESTION: Duration = Duration::from_secs(5);
/// How long anything else may.
const TIME: Duration = Duration::from_secs(30);

/// The way to a server and to its authorisation server.
#[derive(Clone)]
pub(crate) struct Caller {
    http: Arc<HttpPool>,
    /// The server.
    pub(super) server: Url,
    headers: HeaderMap,
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Headers may hold keys.
        formatter.debug_tuple("Caller").finish_non_exhaustive()
    }
}

impl Caller {
    /// `headers` are those that the server is sent with every request.
    pub(crate) fn new(http: Arc<HttpPool>, url: &str, headers: HeaderMap) -> Result<Self, String> {
        let server = Url::parse(url).map_err(|error| format!("`{url}` is no address: {error}"))?;
        Ok(Self {
            http,
            server,
            headers,
        })
    }

    /// Asks what there is to know about logins.
    pub(super) async fn question(&self, url: &Url) -> Result<BoundedReply, String> {
        let request = self.request(Method::GET, url)?;
        let answer = fetch(asking(request), QUESTION).await;
        answer.map_err(|error| error.to_string())
    }

    /// What the server says to somebody who is not logged in: the challenge in the reply, if any.
    pub(super) async fn challenge(&self) -> Result<Option<String>, String> {
        let request = asking(self.request(Method::GET, &self.server)?);
        let response = tokio::time::timeout(QUESTION, request.send()).await;
        let response = response.map_err(|_| "the server does not reply".to_owned())?;
        let response = response.map_err(|error| error.without_url().to_string())?;
        let challenge = response.headers().get("www-authenticate");
        let challenge = challenge.and_then(|challenge| challenge.to_str().ok());
        Ok(challenge.map(str::to_owned))
    }

    /// Posts JSON, or a form.
    pub(super) async fn post(
        &self,
        url: &Url,
        kind: &'static str,
        body: String,
        client: Option<(&str, &str)>,
    ) -> Result<BoundedReply, String> {
        let mut request = self.request(Method::POST, url)?;
        if let Some((id, secret)) = client {
            request = request.basic_auth(id, Some(secret));
        }
        let request = request
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, kind);
        let answer = fetch(request.body(body), TIME).await;
        answer.map_err(|error| error.to_string())
    }

    /// Headers that are configured for the server go to no other one.
    fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, String> {
        let client = self.http.client(url.as_str());
        let client = client.map_err(|error| error.to_string())?;
        let request = client.request(method, url.clone());
        Ok(if url.origin() == self.server.origin() {
            request.headers(self.headers.clone())
        } else {
            request
        })
    }
}

/// What is asked before any version is agreed on says the first one that knew logins.
fn asking(request: RequestBuilder) -> RequestBuilder {
    request.header("mcp-protocol-version", "2024-11-05")
}
