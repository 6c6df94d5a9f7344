//! The streamable HTTP transport: each message is a POST, and the reply is JSON or a stream of server-sent events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use codex_http::{Environment, SentSecrets, SharedLogin, error_text, refused_redirect};
use codex_protocol::Secret;
use parking_lot::Mutex;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::{McpServerConfig, McpServerTransport};
use crate::dispatcher::MessageDispatcher;
use crate::error::McpError;
use crate::event_stream::{EventStream, ReplyStream};
use crate::message;
use crate::oauth::{Challenge, LoginTokens};
use crate::stdio::LARGEST_MESSAGE;

const SESSION: &str = "mcp-session-id";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const ACCEPTED_TYPES: &str = "text/event-stream, application/json";
/// How many bytes of an unexpected reply an error contains.
const MAX_SHOWN_BYTES: usize = 8192;
/// The largest refusal that is read as a reply.
const LARGEST_REFUSAL: usize = 64 * 1024;
/// The time limit for ending the session.
const GOODBYE: Duration = Duration::from_secs(2);
const LAST_EVENT_ID: &str = "last-event-id";
/// After how many streams of unsolicited messages in a row that had none the next one waits for a use of the server.
const EMPTY_STREAMS: u32 = 3;
/// How often the token for a request is renewed at most.
const RENEWALS: u32 = 3;

/// An MCP server behind HTTP.
#[derive(Debug)]
pub(crate) struct HttpTransport {
    client: Client,
    url: Mutex<String>,
    /// Where the server is if there is nothing at `url`.
    other_url: Mutex<Option<String>>,
    headers: HeaderMap,
    authorizer: Option<Authorizer>,
    state: Mutex<HttpSession>,
    /// Counts the requests.
    uses: watch::Sender<u64>,
    /// Where messages are posted, if all replies come on a stream of their own, as in the revision 2024-11-05.
    endpoint: Mutex<Option<Url>>,
}

/// What authorises requests besides the configured headers.
#[derive(Debug)]
pub(crate) enum Authorizer {
    /// A login to the server itself.
    Tokens(LoginTokens, ScopeDemand),
    /// A login of the program.
    Login(SharedLogin),
}

/// What notes the scopes that a server demands.
pub(crate) struct ScopeDemand(pub(crate) Box<dyn Fn(Vec<String>) + Send + Sync>);

impl std::fmt::Debug for ScopeDemand {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ScopeDemand")
    }
}

impl Authorizer {
    /// Notes that the login of a request was not enough. False if another login makes no difference.
    fn needs_more(&self, challenge: Challenge) -> bool {
        match self {
            Self::Tokens(_, demand) if challenge.demands_more_scopes => {
                if !challenge.scopes.is_empty() {
                    (demand.0)(challenge.scopes);
                }
                true
            }
            Self::Tokens(..) | Self::Login(_) => false,
        }
    }

    /// Adds the headers of a request.
    async fn add_to(&self, headers: &mut HeaderMap) {
        match self {
            Self::Tokens(tokens, _) => add_bearer(headers, &tokens.current().await),
            Self::Login(login) => headers.extend(configured(&login.0.headers().await)),
        }
    }

    /// Replaces the headers of a request that was refused. False if nothing is left to try.
    async fn renew(&self, headers: &mut HeaderMap, step: u32) -> bool {
        match self {
            Self::Tokens(tokens, _) if step == 0 => {
                let stale = headers
                    .get(AUTHORIZATION)
                    .and_then(|value| value.to_str().ok());
                let stale = Secret::from(
                    stale
                        .and_then(|value| value.strip_prefix("Bearer "))
                        .unwrap_or_default(),
                );
                let renewed = tokens.renewed(&stale).await;
                renewed
                    .inspect(|token| add_bearer(headers, token))
                    .is_some()
            }
            Self::Tokens(..) => false,
            Self::Login(login) => {
                let refused = headers.get(AUTHORIZATION).cloned();
                let refused = refused.as_ref().and_then(|value| value.to_str().ok());
                let renewed = login.0.renew(refused.unwrap_or_default(), step).await;
                self.add_to(headers).await;
                renewed
            }
        }
    }
}

fn add_bearer(headers: &mut HeaderMap, token: &Secret) {
    if let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", token.reveal())) {
        // It does not appear in logs then.
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
}

#[derive(Clone, Debug, Default)]
struct HttpSession {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

impl HttpTransport {
    pub(crate) fn new(
        client: Client,
        url: &str,
        headers: HeaderMap,
        authorizer: Option<Authorizer>,
    ) -> Self {
        Self {
            client,
            url: Mutex::new(url.to_owned()),
            other_url: Mutex::default(),
            headers,
            authorizer,
            state: Mutex::default(),
            uses: watch::Sender::default(),
            endpoint: Mutex::default(),
        }
    }

    /// The same server, which may be at another address.
    pub(crate) fn or_at(self, other_url: Option<String>) -> Self {
        *self.other_url.lock() = other_url;
        self
    }

    fn url(&self) -> String {
        self.url.lock().clone()
    }

    /// Goes over to the other address. False if there is none.
    fn goes_on_elsewhere(&self) -> bool {
        let Some(other) = self.other_url.lock().take() else {
            return false;
        };
        *self.url.lock() = other;
        true
    }

    /// Whether replies come with the replies to requests of HTTP, and not on a stream of their own.
    pub(crate) fn answers_in_place(&self) -> bool {
        self.endpoint.lock().is_none()
    }

    /// Opens the stream on which a server of the revision 2024-11-05 replies. False if it has none.
    pub(crate) async fn open_reply_stream(
        &self,
        dispatcher: &Arc<MessageDispatcher>,
        closed: CancellationToken,
    ) -> Result<bool, McpError> {
        let headers = self.authorized().await;
        let response = self.open_stream(&headers, None).await?;
        if response.status() != StatusCode::OK || !matches!(body_kind(&response), BodyKind::Events)
        {
            return Ok(false);
        }
        let endpoint = ReplyStream::open(response, dispatcher, closed).await?;
        let invalid = || McpError::Http("the server names no address for messages".to_owned());
        let server = Url::parse(&self.url()).map_err(|_| invalid())?;
        let endpoint = server.join(&endpoint).map_err(|_| invalid())?;
        // The headers and the login are for this server alone.
        if endpoint.origin() != server.origin() {
            let problem = "the server names an address of another one for messages";
            return Err(McpError::Http(problem.to_owned()));
        }
        *self.endpoint.lock() = Some(endpoint);
        Ok(true)
    }

    /// Whether it is not known which revisions the server knows. Servers of the program's own login are known.
    pub(crate) fn discovers_first(&self) -> bool {
        self.other_url.lock().is_none() && !matches!(self.authorizer, Some(Authorizer::Login(_)))
    }

    /// Posts a message and dispatches everything in the reply. A request is named by its id. With headers of its own it
    /// follows the revision without a handshake.
    pub(crate) async fn send(
        &self,
        text: String,
        request: Option<u64>,
        own_headers: HeaderMap,
        dispatcher: &Arc<MessageDispatcher>,
    ) -> Result<(), McpError> {
        if request.is_some() {
            self.uses.send_modify(|uses| *uses += 1);
        }
        let is_stateless = !own_headers.is_empty();
        let mut headers = self.authorized().await;
        headers.extend(own_headers);
        let mut response = self.post(text.clone(), &headers).await?;
        let mut step = 0;
        while response.status() == StatusCode::UNAUTHORIZED
            && step < RENEWALS
            && let Some(authorizer) = &self.authorizer
            && authorizer.renew(&mut headers, step).await
        {
            response = self.post(text.clone(), &headers).await?;
            step += 1;
        }
        let had_session = self.state.lock().session.is_some();
        if response.status() == StatusCode::NOT_FOUND && !had_session && self.goes_on_elsewhere() {
            response = self.post(text, &headers).await?;
        }
        match response.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => return Ok(()),
            StatusCode::UNAUTHORIZED if response.headers().contains_key(WWW_AUTHENTICATE) => {
                return Err(McpError::AuthRequired);
            }
            StatusCode::FORBIDDEN
                if self
                    .authorizer
                    .as_ref()
                    .is_some_and(|authorizer| authorizer.needs_more(challenge_in(&response))) =>
            {
                return Err(McpError::ScopesMissing);
            }
            StatusCode::NOT_FOUND if had_session => return Err(McpError::SessionExpired),
            status if status.is_client_error() && is_stateless => {
                return Err(self.refusal(response, &headers).await);
            }
            status if !status.is_success() => {
                return Err(self.unexpected(response, &headers).await);
            }
            _ => {}
        }
        if !self.answers_in_place() {
            return Ok(());
        }
        if let Some(session) = response.headers().get(SESSION) {
            self.state.lock().session = Some(session.clone());
        }
        match body_kind(&response) {
            BodyKind::Json => {
                let text = read(response, LARGEST_MESSAGE).await?;
                dispatcher.deliver(&text);
                Ok(())
            }
            BodyKind::Events => self.receive(response, request, dispatcher).await,
            BodyKind::Other => Err(self.unexpected(response, &headers).await),
        }
    }

    /// Dispatches the events of a reply. If they end before the reply to the request, the stream is taken up again where
    /// the server has named a place; the time limit of the request ends this.
    async fn receive(
        &self,
        response: Response,
        request: Option<u64>,
        dispatcher: &Arc<MessageDispatcher>,
    ) -> Result<(), McpError> {
        let mut stream = EventStream::default();
        let mut ended = stream.read(response, dispatcher).await;
        while request.is_some_and(|id| dispatcher.expects(id))
            && let Some(place) = stream.place().cloned()
        {
            tokio::time::sleep(stream.delay()).await;
            let headers = self.authorized().await;
            ended = match self.open_stream(&headers, Some(&place)).await {
                Ok(response)
                    if response.status() == StatusCode::OK
                        && matches!(body_kind(&response), BodyKind::Events) =>
                {
                    stream.read(response, dispatcher).await
                }
                Ok(response) if !is_passing(response.status()) => {
                    return Err(self.unexpected(response, &headers).await);
                }
                Ok(response) => {
                    stream.failed();
                    Err(self.unexpected(response, &headers).await)
                }
                Err(error) => {
                    stream.failed();
                    Err(error)
                }
            };
        }
        ended
    }

    /// Requests a stream of events, or the rest of one.
    async fn open_stream(
        &self,
        headers: &HeaderMap,
        place: Option<&HeaderValue>,
    ) -> Result<Response, McpError> {
        let request = self.prepared(self.client.get(self.url()), headers.clone());
        let mut request = request.header(ACCEPT, "text/event-stream");
        if let Some(place) = place {
            request = request.header(LAST_EVENT_ID, place);
        }
        request.send().await.map_err(failed)
    }

    async fn post(&self, message: String, headers: &HeaderMap) -> Result<Response, McpError> {
        let endpoint = self.endpoint.lock().clone();
        let request = match endpoint {
            Some(endpoint) => self.client.post(endpoint),
            None => self.client.post(self.url()),
        };
        let request = self.prepared(request, headers.clone());
        let request = request
            .header(ACCEPT, ACCEPTED_TYPES)
            .header(CONTENT_TYPE, "application/json");
        request.body(message).send().await.map_err(failed)
    }

    /// The error of a refusal, which is a reply of the protocol in the revision without a handshake.
    async fn refusal(&self, response: Response, headers: &HeaderMap) -> McpError {
        if !matches!(body_kind(&response), BodyKind::Json) {
            return self.unexpected(response, headers).await;
        }
        let status = response.status();
        let body = read(response, LARGEST_REFUSAL).await;
        let error = body.ok().and_then(|body| message::error_in(&body));
        error.unwrap_or_else(|| McpError::Http(format!("HTTP {status}")))
    }

    /// An error with the beginning of an unexpected reply, without the secrets that were sent.
    async fn unexpected(&self, response: Response, headers: &HeaderMap) -> McpError {
        let mut secrets = SentSecrets::from_headers(headers);
        // Some servers take their key in the query of their address.
        let url = Url::parse(&self.url()).ok();
        for (_, value) in url.iter().flat_map(Url::query_pairs) {
            secrets.add(&value);
        }
        unexpected(response, &secrets).await
    }

    /// The configured headers, and those of the current login.
    async fn authorized(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(authorizer) = &self.authorizer {
            authorizer.add_to(&mut headers).await;
        }
        headers
    }

    pub(crate) fn set_protocol_version(&self, version: &str) {
        self.state.lock().version = HeaderValue::from_str(version).ok();
    }

    pub(crate) fn forget_session(&self) {
        *self.state.lock() = HttpSession::default();
    }

    /// Listens to the stream of unsolicited messages, if the server offers one. A stream that ends is opened again, after
    /// the time that the server has named. If several in a row had no messages, the next one waits for a request.
    pub(crate) async fn listen(&self, dispatcher: &Arc<MessageDispatcher>) {
        let mut uses = self.uses.subscribe();
        let mut stream = EventStream::default();
        loop {
            let headers = self.authorized().await;
            match self.open_stream(&headers, stream.place()).await {
                Ok(response) if response.status() == StatusCode::OK => {
                    if !matches!(body_kind(&response), BodyKind::Events) {
                        return;
                    }
                    if let Err(error) = stream.read(response, dispatcher).await {
                        tracing::debug!(%error, "the event stream of an MCP server broke");
                    }
                }
                Ok(response) if is_passing(response.status()) => stream.failed(),
                Ok(_) => return,
                Err(_) => stream.failed(),
            }
            uses.borrow_and_update();
            tokio::time::sleep(stream.delay()).await;
            // The sender lives as long as this call.
            if stream.empty_in_a_row() >= EMPTY_STREAMS && uses.changed().await.is_err() {
                return;
            }
        }
    }

    /// Ends the session, if there is one.
    pub(crate) async fn close(&self) {
        if self.state.lock().session.is_none() {
            return;
        }
        let goodbye = async {
            let headers = self.authorized().await;
            let request = self.prepared(self.client.delete(self.url()), headers);
            request.send().await
        };
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    }

    fn prepared(&self, request: RequestBuilder, mut headers: HeaderMap) -> RequestBuilder {
        let HttpSession { session, version } = self.state.lock().clone();
        let own = [(SESSION, session), (PROTOCOL_VERSION, version)];
        for (name, value) in own {
            if let Some(value) = value {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        request.headers(headers)
    }
}

/// The configured headers of a server, including the bearer token of its environment variable.
pub(crate) fn headers_of(
    server: &McpServerConfig,
    environment: &dyn Environment,
) -> Result<HeaderMap, McpError> {
    let McpServerTransport::Http {
        bearer_token_variable,
        headers,
        headers_from_variables,
        ..
    } = &server.transport
    else {
        return Ok(HeaderMap::new());
    };
    let mut all = configured(headers);
    let set = headers_from_variables
        .iter()
        .filter_map(|(name, variable)| {
            let value = environment.variable(variable)?;
            (!value.trim().is_empty()).then(|| (name.clone(), value))
        });
    all.extend(configured(&set.collect()));
    if let Some(variable) = bearer_token_variable {
        let value = bearer(server, variable, environment)?;
        all.insert(AUTHORIZATION, value);
    }
    Ok(all)
}

/// Converts configured headers; headers that are not valid are logged and left out.
fn configured(headers: &BTreeMap<String, String>) -> HeaderMap {
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
        match parsed.zip(HeaderValue::from_str(value).ok()) {
            Some((name, mut value)) => {
                value.set_sensitive(true);
                all.insert(name, value);
            }
            None => tracing::warn!(name, "a header for an MCP server cannot be sent"),
        }
    }
    all
}

fn bearer(
    server: &McpServerConfig,
    variable: &str,
    environment: &dyn Environment,
) -> Result<HeaderValue, McpError> {
    let problem = |problem| McpError::Variable {
        variable: variable.to_owned(),
        server: server.name.clone(),
        problem,
    };
    let token = environment.variable(variable);
    let token = token.ok_or_else(|| problem("is not set"))?;
    if token.trim().is_empty() {
        return Err(problem("is empty"));
    }
    let value = HeaderValue::from_str(&format!("Bearer {}", token.trim()));
    let mut value = value.map_err(|_| problem("cannot be sent in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The form of a reply's body.
enum BodyKind {
    Json,
    Events,
    Other,
}

fn body_kind(response: &Response) -> BodyKind {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().map(str::trim) {
        Some("application/json") => BodyKind::Json,
        Some("text/event-stream") => BodyKind::Events,
        _ => BodyKind::Other,
    }
}

fn challenge_in(response: &Response) -> Challenge {
    let header = response.headers().get(WWW_AUTHENTICATE);
    let header = header.and_then(|header| header.to_str().ok());
    Challenge::read(response.status().as_u16(), header)
}

/// Whether the same request may succeed later.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, McpError> {
    let mut all = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        all.extend_from_slice(&chunk);
        if all.len() > limit {
            return Err(McpError::TooLarge(limit));
        }
    }
    Ok(all)
}

async fn unexpected(mut response: Response, secrets: &SentSecrets) -> McpError {
    let status = response.status();
    if let Some(refused) = refused_redirect(status.as_u16(), response.headers()) {
        return McpError::Http(format!("HTTP {status}: {refused}"));
    }
    let header = response.headers().get(CONTENT_TYPE);
    let kind = header
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or("none")
        .to_owned();
    let mut body = Vec::new();
    while body.len() < MAX_SHOWN_BYTES
        && let Ok(Some(chunk)) = response.chunk().await
    {
        body.extend_from_slice(&chunk);
    }
    // Redacts before the text is cut, so that no part of a secret remains.
    let mut shown = secrets.redact(String::from_utf8_lossy(&body).into_owned());
    let cut = if shown.len() <= MAX_SHOWN_BYTES {
        ""
    } else {
        "... (truncated)"
    };
    shown.truncate(shown.floor_char_boundary(MAX_SHOWN_BYTES));
    McpError::Status {
        status: status.as_u16(),
        text: format!("HTTP {status}: {kind}; body: {shown}{cut}"),
    }
}

pub(crate) fn failed(error: reqwest::Error) -> McpError {
    McpError::Http(error_text(error))
}
