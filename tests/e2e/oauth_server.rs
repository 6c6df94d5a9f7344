//! An MCP server behind HTTP that wants a login, and is its own authorisation server.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// The server. Its tokens are `access-1`, `refresh-1` and so on, one pair for each time it gives some out.
pub(crate) struct OauthServer {
    server: MockServer,
    replies: OauthReplies,
}

#[derive(Clone, Default)]
struct OauthReplies(Arc<Mutex<OauthReplyState>>);

#[derive(Default)]
struct OauthReplyState {
    url: String,
    /// What is answered at some paths in place of the usual.
    instead: BTreeMap<&'static str, ResponseTemplate>,
    given: u32,
    /// The tokens that are good.
    good: Vec<String>,
    /// The challenge to requests without one.
    challenge: Option<String>,
    /// Whether there are challenges only where messages are posted.
    knows_no_get: bool,
    /// The challenge to calls with the first token.
    call_challenge: Option<String>,
}

impl OauthServer {
    pub(crate) async fn start() -> Self {
        let (server, replies) = (MockServer::start().await, OauthReplies::default());
        replies.0.lock().url = server.uri();
        Mock::given(any())
            .respond_with(replies.clone())
            .mount(&server)
            .await;
        Self { server, replies }
    }

    /// The address of the MCP server.
    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.server.uri())
    }

    /// From now on, answers this at a path.
    pub(crate) fn answer(&self, path: &'static str, status: u16, body: &str) {
        let body = body.replace("URL", &self.server.uri());
        let reply = ResponseTemplate::new(status).set_body_raw(body, "application/json");
        self.replies.0.lock().instead.insert(path, reply);
    }

    /// From now on, takes no token that was given out so far, and this one.
    pub(crate) fn takes_only(&self, token: &str) {
        self.replies.0.lock().good = vec![token.to_owned()];
    }

    /// From now on, challenges requests without a token in this way, if they are messages.
    pub(crate) fn challenge_messages(&self, challenge: &str) {
        let mut state = self.replies.0.lock();
        state.challenge = Some(challenge.replace("URL", &self.server.uri()));
        state.knows_no_get = true;
    }

    /// From now on, refuses calls with the first token in this way.
    pub(crate) fn challenge_calls(&self, challenge: &str) {
        self.replies.0.lock().call_challenge = Some(challenge.to_owned());
    }

    /// The requests at a path.
    pub(crate) async fn requests_at(&self, path: &str) -> Vec<Request> {
        let mut requests = self.server.received_requests().await.unwrap();
        requests.retain(|request| request.url.path() == path);
        requests
    }
}

/// The body of a request, as text.
pub(crate) fn body_of(request: &Request) -> &str {
    std::str::from_utf8(&request.body).unwrap()
}

impl Respond for OauthReplies {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let path = request.url.path();
        if let Some(reply) = self.0.lock().instead.get(path) {
            return reply.clone();
        }
        let url = self.0.lock().url.clone();
        match path {
            "/.well-known/oauth-authorization-server" => json_reply(json!({
                "issuer": url,
                "authorization_endpoint": format!("{url}/authorize"),
                "token_endpoint": format!("{url}/token"),
                "registration_endpoint": format!("{url}/register"),
                "scopes_supported": ["read", "write"],
            })),
            "/register" => {
                ResponseTemplate::new(201).set_body_json(json!({ "client_id": "client" }))
            }
            "/token" => self.tokens(),
            "/mcp" => self.speak(request),
            _ => ResponseTemplate::new(404),
        }
    }
}

impl OauthReplies {
    fn tokens(&self) -> ResponseTemplate {
        let mut state = self.0.lock();
        state.given += 1;
        let number = state.given;
        state.good.push(format!("access-{number}"));
        json_reply(json!({
            "access_token": format!("access-{number}"), "token_type": "Bearer",
            "refresh_token": format!("refresh-{number}"), "expires_in": 3600,
        }))
    }

    fn speak(&self, request: &Request) -> ResponseTemplate {
        let authorization = request.headers.get("authorization");
        let token = authorization.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let is_good = |token: &str| self.0.lock().good.iter().any(|good| good == token);
        if !token.is_some_and(is_good) {
            let state = self.0.lock();
            if state.knows_no_get && request.method == "GET" {
                return ResponseTemplate::new(405);
            }
            let challenge = state.challenge.as_deref().unwrap_or("Bearer");
            return ResponseTemplate::new(401).insert_header("www-authenticate", challenge);
        }
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let answer = |result: Value| {
            json_reply(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
        };
        match message["method"].as_str() {
            Some("initialize") => {
                answer(json!({ "protocolVersion": "2025-06-18", "capabilities": {} }))
            }
            Some("tools/list") => {
                let tool = json!({ "name": "echo", "inputSchema": { "type": "object" } });
                answer(json!({ "tools": [tool] }))
            }
            Some("tools/call") => {
                let challenge = self.0.lock().call_challenge.clone();
                match challenge.filter(|_| token == Some("access-1")) {
                    Some(challenge) => {
                        ResponseTemplate::new(403).insert_header("www-authenticate", &*challenge)
                    }
                    None => answer(json!({ "content": [] })),
                }
            }
            None => ResponseTemplate::new(405),
            _ => ResponseTemplate::new(202),
        }
    }
}

fn json_reply(body: Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

/// What a browser finds at an address on this machine: the first line and the body.
pub(crate) async fn browse(url: &str) -> (String, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, target) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let request = format!("GET /{target} HTTP/1.1\r\nhost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

/// A parameter of an address, decoded as far as these tests need it.
pub(crate) fn parameter(url: &str, name: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(known, _)| *known == name)?;
    Some(
        value
            .replace("%3A", ":")
            .replace("%2F", "/")
            .replace('+', " "),
    )
}
