//! Opens connections to exec servers, and begins or resumes their sessions.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_exec::Launcher;
use codex_http::{HandshakeKey, HttpPool, SentSecrets, SocketMessage, WebSocket, error_text};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::child::ChildLink;
use crate::facts::{MachineFacts, SentFacts};
use crate::wire::{BegunSession, Initialize, code};

/// How this program calls itself.
const CLIENT_NAME: &str = "codex-environment";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time that a command has until its exec server answers: it may have to log in first.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// The time that a server has for its first reply.
const FIRST_REPLY_TIMEOUT: Duration = Duration::from_secs(60);
/// The time in which a message must be taken.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest message of a server.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// An exec server behind a websocket, and how to connect to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// A command of this machine whose standard streams are an exec server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarrierCommand {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    /// All variables that it gets.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
}

/// How a machine is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    WebSocket(ExecServer),
    Command(CarrierCommand),
}

/// What connections are opened with.
#[derive(Clone, Debug)]
pub(crate) struct CarrierResources {
    pub(crate) http: Arc<HttpPool>,
    pub(crate) launcher: Launcher,
}

/// An open connection.
#[derive(Debug)]
pub(crate) enum Link {
    Socket(Box<WebSocket>),
    Child(Box<ChildLink>),
}

/// A connection with a session.
pub(crate) struct OpenedLink {
    pub(crate) link: Link,
    pub(crate) session: String,
    pub(crate) facts: MachineFacts,
}

/// Why there is no connection with a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OpenError {
    /// The server does not know the session.
    UnknownSession(String),
    /// Another connection has the session: the lost one, if the server has not seen its end yet.
    InUse(String),
    /// For this reason, which may pass.
    Failed(String),
}

impl Link {
    pub(crate) async fn send(&mut self, message: String) -> Result<(), String> {
        let sending = async {
            match self {
                Self::Socket(socket) => {
                    let sent = socket.send(message).await;
                    sent.map_err(|error| error.to_string())
                }
                Self::Child(child) => child.send(message).await,
            }
        };
        let sent = tokio::time::timeout(SEND_TIMEOUT, sending).await;
        sent.unwrap_or_else(|_| Err("the other side takes no messages".to_owned()))
    }

    /// The next message. Nothing is lost if this is dropped.
    pub(crate) async fn next(&mut self) -> Result<Vec<u8>, String> {
        let socket = match self {
            Self::Child(child) => return child.next().await,
            Self::Socket(socket) => socket,
        };
        loop {
            match socket.next().await.map_err(|error| error.to_string())? {
                SocketMessage::Text(text) => return Ok(text.as_bytes().to_vec()),
                SocketMessage::Control => {}
                SocketMessage::Binary => return Err("it sent binary data".to_owned()),
                SocketMessage::Closed => return Err("it has closed the connection".to_owned()),
            }
        }
    }
}

/// A request or, without an id, a notification.
#[derive(Debug, Serialize)]
pub(crate) struct OutgoingMessage<'a, P> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<u64>,
    pub(crate) method: &'a str,
    pub(crate) params: P,
}

impl<P: Serialize> OutgoingMessage<'_, P> {
    pub(crate) fn encode(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A message of the server.
#[derive(Debug, Deserialize)]
pub(crate) struct ReceivedMessage<'a> {
    pub(crate) id: Option<i64>,
    pub(crate) method: Option<String>,
    #[serde(borrow)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) result: Option<&'a RawValue>,
    pub(crate) error: Option<SentRefusal>,
}

/// The error of a reply.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct SentRefusal {
    #[serde(default)]
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) data: Option<RefusalData>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct RefusalData {
    #[serde(default)]
    pub(crate) kind: Option<String>,
}

/// The longest sentence of a server that is passed on.
const MAX_SENTENCE: usize = 2000;

/// A sentence of the other side, on one line and not too long.
pub(crate) fn sentence(text: &str) -> String {
    let visible = |char: char| if char.is_control() { ' ' } else { char };
    text.chars().take(MAX_SENTENCE).map(visible).collect()
}

impl Carrier {
    /// Opens the connection and begins a session, or goes on with one.
    pub(crate) async fn open(
        &self,
        resources: &CarrierResources,
        session: Option<String>,
    ) -> Result<OpenedLink, OpenError> {
        let (mut link, limit) = match self {
            Self::WebSocket(server) => (
                Link::Socket(Box::new(server.connect(&resources.http).await?)),
                FIRST_REPLY_TIMEOUT,
            ),
            Self::Command(command) => {
                let started = ChildLink::start(&resources.launcher, command).await;
                let child = started.map_err(OpenError::Failed)?;
                (Link::Child(Box::new(child)), COMMAND_TIMEOUT)
            }
        };
        let begun = tokio::time::timeout(limit, initialize(&mut link, session)).await;
        let begun = begun.unwrap_or_else(|_| {
            let limit = limit.as_secs();
            let reason = format!("the exec server does not answer within {limit} s");
            Err(OpenError::Failed(reason))
        });
        let (session, facts) = begun?;
        Ok(OpenedLink {
            link,
            session,
            facts,
        })
    }
}

impl ExecServer {
    async fn connect(&self, pool: &HttpPool) -> Result<WebSocket, OpenError> {
        let limit = self.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let opened = tokio::time::timeout(limit, self.handshake(pool)).await;
        let opened =
            opened.unwrap_or_else(|_| Err(format!("no answer in {} ms", limit.as_millis())));
        opened.map_err(|reason| {
            let url = &self.url;
            OpenError::Failed(format!(
                "failed to connect to the exec server at `{url}`: {reason}"
            ))
        })
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
        let secrets = SentSecrets::from_headers(&headers);
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

async fn initialize(
    link: &mut Link,
    session: Option<String>,
) -> Result<(String, MachineFacts), OpenError> {
    const ID: u64 = 1;
    let is_resumed = session.is_some();
    let request = OutgoingMessage {
        id: Some(ID),
        method: "initialize",
        params: Initialize {
            client_name: CLIENT_NAME.to_owned(),
            resume_session_id: session,
        },
    };
    let sent = link.send(request.encode()).await;
    sent.map_err(OpenError::Failed)?;
    loop {
        let message = link.next().await.map_err(OpenError::Failed)?;
        let Ok(reply) = serde_json::from_slice::<ReceivedMessage<'_>>(&message) else {
            // A login may print something first.
            continue;
        };
        if reply.id != Some(ID.cast_signed()) || reply.method.is_some() {
            continue;
        }
        if let Some(refusal) = reply.error {
            let reason = sentence(&refusal.message);
            return Err(match refusal.code {
                code::REFUSED if is_resumed => OpenError::UnknownSession(reason),
                code::SESSION_IN_USE => OpenError::InUse(reason),
                _ => OpenError::Failed(format!("the exec server refuses: {reason}")),
            });
        }
        let result = reply.result.map_or("null", |result| result.get());
        let begun: BegunSession<SentFacts> = serde_json::from_str(result).map_err(|error| {
            OpenError::Failed(format!("the exec server sent an unreadable reply: {error}"))
        })?;
        let facts = begun.environment_info.check().map_err(|reason| {
            OpenError::Failed(format!("the exec server cannot be used: {reason}"))
        })?;
        let notification = OutgoingMessage {
            id: None,
            method: "initialized",
            params: serde_json::json!({}),
        };
        let sent = link.send(notification.encode()).await;
        sent.map_err(OpenError::Failed)?;
        return Ok((begun.session_id, facts));
    }
}
