//! HTTP requests of logins: to the MCP server and to its authorization server.

use std::sync::Arc;
use std::time::Duration;

use codex_http::{BoundedReply, HttpPool, fetch};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Method, RequestBuilder, Url};
use serde_json::json;

use super::challenge::Challenge;
use crate::{message, revision, routing};

/// The time limit for a metadata request.
const QUESTION: Duration = Duration::from_secs(5);
/// The time limit for other requests.
const TIME: Duration = Duration::from_secs(30);

/// Sends requests to an MCP server and to its authorization server.
#[derive(Clone)]
pub(crate) struct OAuthClient {
    http: Arc<HttpPool>,
    /// The address of the MCP server.
    pub(super) server: Url,
    headers: HeaderMap,
}

impl std::fmt::Debug for OAuthClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Headers may contain secrets.
        formatter.debug_tuple("OAuthClient").finish_non_exhaustive()
    }
}

impl OAuthClient {
    /// `headers` are sent to the MCP server with every request.
    pub(crate) fn new(http: Arc<HttpPool>, url: &str, headers: HeaderMap) -> Result<Self, String> {
        let server = Url::parse(url).map_err(|error| format!("`{url}` is no address: {error}"))?;
        Ok(Self {
            http,
            server,
            headers,
        })
    }

    /// Requests metadata.
    pub(super) async fn metadata(&self, url: &Url) -> Result<BoundedReply, String> {
        let request = self.request(Method::GET, url)?;
        let answer = fetch(metadata_request(request), QUESTION).await;
        answer.map_err(|error| error.to_string())
    }

    /// The challenge that the server sends to a GET without authorization.
    pub(super) async fn challenge(&self) -> Result<Challenge, String> {
        let request = metadata_request(self.request(Method::GET, &self.server)?);
        refused(request).await
    }

    /// The challenge that it sends to a message without authorization, which does nothing if there is no challenge.
    pub(super) async fn challenge_of_post(&self) -> Result<Challenge, String> {
        let mut params = json!({});
        let client = json!({ "name": "codex-mcp-client", "version": env!("CARGO_PKG_VERSION") });
        revision::introduce(&mut params, json!({}), client);
        let headers = routing::headers("server/discover", &params, &[]);
        let request = self.request(Method::POST, &self.server)?.headers(headers);
        let request = request
            .header(ACCEPT, "text/event-stream, application/json")
            .header(CONTENT_TYPE, "application/json");
        refused(request.body(message::request(0, "server/discover", params))).await
    }

    /// Posts JSON or a form.
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

    /// The configured headers are sent only to the server's own origin.
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

/// How a request is refused, if it is.
async fn refused(request: RequestBuilder) -> Result<Challenge, String> {
    let response = tokio::time::timeout(QUESTION, request.send())
        .await
        .map_err(|_| "the server does not reply".to_owned())?
        .map_err(|error| error.without_url().to_string())?;
    let header = response.headers().get(WWW_AUTHENTICATE);
    let header = header.and_then(|header| header.to_str().ok());
    Ok(Challenge::read(response.status().as_u16(), header))
}

/// Metadata requests carry the first protocol version that specified logins, as no version is agreed on yet.
fn metadata_request(request: RequestBuilder) -> RequestBuilder {
    request.header("mcp-protocol-version", "2024-11-05")
}
