//! Opens the connection to an exec server.

use std::time::Duration;

use codex_http::{HandshakeKey, HttpPool, SentSecrets, SocketMessage, WebSocket, error_text};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::messages::{BegunSession, ExecMessage, HelloParams, OutgoingMessage};

/// How this program calls itself.
const CLIENT_NAME: &str = "codex-environment";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time that a server has for its first reply.
const FIRST_REPLY_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Where an exec server is, and how to connect to it.
#[derive(Clone, Debug, Default)]
pub struct ExecServer {
    /// A URL with the scheme `ws` or `wss`.
    pub url: String,
    /// Sent as the authorization.
    pub bearer_token: Option<String>,
    /// Sent as the header `x-request-id`.
    pub request_id: Option<String>,
    /// The time limit for the connection.
    pub timeout: Option<Duration>,
}

impl ExecServer {
    /// Opens the connection and begins a session, or goes on with one. Returns the id of the session.
    pub(crate) async fn open(
        &self,
        pool: &HttpPool,
        session: Option<&str>,
    ) -> Result<(WebSocket, String), String> {
        let limit = self.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let opened = tokio::time::timeout(limit, self.handshake(pool)).await;
        let opened =
            opened.unwrap_or_else(|_| Err(format!("no answer in {} ms", limit.as_millis())));
        let mut socket = opened.map_err(|reason| {
            let url = &self.url;
            format!("failed to connect to exec-server websocket `{url}`: {reason}")
        })?;
        let begun = tokio::time::timeout(FIRST_REPLY_TIMEOUT, initialize(&mut socket, session));
        let begun = begun
            .await
            .map_err(|_| "exec-server does not answer".to_owned());
        let session = begun??;
        Ok((socket, session))
    }

    async fn handshake(&self, pool: &HttpPool) -> Result<WebSocket, String> {
        let url = match self.url.split_once("://") {
            Some(("ws", rest)) => format!("http://{rest}"),
            Some(("wss", rest)) => format!("https://{rest}"),
            Some(_) => return Err("the scheme must be `ws` or `wss`".to_owned()),
            None => return Err("not a URL".to_owned()),
        };
        let key = HandshakeKey::new();
        let headers = self.headers(&key);
        let secrets = SentSecrets::of(&headers);
        let client = pool.client(&url).map_err(|error| error.to_string())?;
        let reply = client.get(url).headers(headers).send().await;
        let reply = reply.map_err(|error| secrets.redact(error_text(error)))?;
        let status = reply.status().as_u16();
        if status != 101 {
            return Err(format!("HTTP status {status}"));
        }
        let socket = WebSocket::connect(reply, &key, MAX_MESSAGE_BYTES).await;
        socket.map_err(|error| error.to_string())
    }

    fn headers(&self, key: &HandshakeKey) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let token = self.bearer_token.as_ref();
        let given = [
            (
                "authorization",
                token.map(|token| format!("Bearer {token}")),
            ),
            ("x-request-id", self.request_id.clone()),
        ];
        for (name, value) in given {
            let value = value.as_deref().map(HeaderValue::from_str);
            if let Some(Ok(mut value)) = value {
                value.set_sensitive(name == "authorization");
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        key.add_headers(&mut headers);
        headers
    }
}

async fn initialize(socket: &mut WebSocket, session: Option<&str>) -> Result<String, String> {
    const ID: u64 = 1;
    let request = OutgoingMessage {
        id: Some(ID),
        method: "initialize",
        params: HelloParams {
            client_name: CLIENT_NAME,
            resume_session_id: session,
        },
    };
    let lost = |error: codex_http::SocketError| format!("exec-server transport: {error}");
    socket.send(request.encode()).await.map_err(lost)?;
    loop {
        let message = socket.next().await.map_err(lost)?;
        let text = match message {
            SocketMessage::Text(text) => text,
            SocketMessage::Control => continue,
            SocketMessage::Binary => return Err("exec-server sent binary data".to_owned()),
            SocketMessage::Closed => return Err("exec-server transport disconnected".to_owned()),
        };
        let Ok(reply) = serde_json::from_str::<ExecMessage>(&text) else {
            return Err("exec-server sent a message that is no JSON-RPC".to_owned());
        };
        if reply.id != Some(ID) {
            continue;
        }
        if let Some(refusal) = reply.error {
            return Err(refusal.text());
        }
        let result = reply
            .result
            .as_deref()
            .map_or("null", |result| result.get());
        let begun: BegunSession = serde_json::from_str(result)
            .map_err(|error| format!("exec-server sent an unreadable reply: {error}"))?;
        let notification = OutgoingMessage {
            id: None,
            method: "initialized",
            params: serde_json::json!({}),
        };
        socket.send(notification.encode()).await.map_err(lost)?;
        return Ok(begun.session_id);
    }
}
