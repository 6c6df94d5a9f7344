//! Websockets: messages of text in both directions over an HTTP connection.
//!
//! A client sends the handshake as an ordinary request of the pool, so that proxies, certificates and headers are those
//! of other requests, and turns the reply into a [`WebSocket`]. A server does the same with the connection of a request.
//! Pings of the peer are answered while the next message is awaited; nothing runs in the background.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::{SinkExt, Stream};
use reqwest::Response;
use reqwest::header::{HeaderMap, HeaderValue};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::error_text;

const READ_BUFFER_BYTES: usize = 16 * 1024;
const VERSION: &str = "13";

/// The text of a message. It shares the memory of the message.
pub type SocketText = Utf8Bytes;

/// A message of the peer.
#[derive(Debug)]
pub enum SocketMessage {
    Text(SocketText),
    /// Data that is not text.
    Binary,
    /// A ping or its answer, which say only that the peer is there.
    Control,
    /// The peer closes the connection.
    Closed,
}

/// Why a connection cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SocketError {
    #[error("{0}")]
    Lost(String),
    #[error("a message is longer than {0} bytes")]
    TooLarge(usize),
}

/// The secret of a handshake, which the server's reply has to repeat in another form.
#[derive(Clone, Debug)]
pub struct HandshakeKey(String);

impl HandshakeKey {
    #[must_use]
    pub fn new() -> Self {
        Self(generate_key())
    }

    /// Adds the headers of the handshake to a GET request.
    pub fn add_headers(&self, headers: &mut HeaderMap) {
        headers.insert("connection", HeaderValue::from_static("Upgrade"));
        headers.insert("upgrade", HeaderValue::from_static("websocket"));
        headers.insert("sec-websocket-version", HeaderValue::from_static(VERSION));
        if let Ok(key) = HeaderValue::from_str(&self.0) {
            headers.insert("sec-websocket-key", key);
        }
    }
}

impl Default for HandshakeKey {
    fn default() -> Self {
        Self::new()
    }
}

/// The header values with which a server accepts a handshake; none if the request is no handshake.
#[must_use]
pub fn accept_handshake(header: impl Fn(&str) -> Option<String>) -> Option<[(String, String); 3]> {
    let upgrade = header("upgrade")?;
    if !upgrade.eq_ignore_ascii_case("websocket") || header("sec-websocket-version")? != VERSION {
        return None;
    }
    let key = derive_accept_key(header("sec-websocket-key")?.as_bytes());
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Some([
        pair("connection", "Upgrade"),
        pair("upgrade", "websocket"),
        pair("sec-websocket-accept", &key),
    ])
}

/// The bytes below a websocket.
trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

type AnyStream = Box<dyn ByteStream>;

/// A connection. Dropping it closes the connection without a notice to the peer.
pub struct WebSocket {
    stream: WebSocketStream<AnyStream>,
}

impl WebSocket {
    /// The client's side of a handshake. Messages of the server may have `limit` bytes.
    ///
    /// # Errors
    /// The reply does not accept the handshake.
    pub async fn connect(
        reply: Response,
        key: &HandshakeKey,
        limit: usize,
    ) -> Result<Self, SocketError> {
        let accepted = reply.headers().get("sec-websocket-accept");
        let expected = derive_accept_key(key.0.as_bytes());
        if reply.status() != 101 || accepted.is_none_or(|value| value != expected.as_str()) {
            let text = "the server does not accept the websocket".to_owned();
            return Err(SocketError::Lost(text));
        }
        let upgraded = reply
            .upgrade()
            .await
            .map_err(|error| SocketError::Lost(error_text(error)))?;
        let transport: AnyStream = Box::new(upgraded);
        let stream = WebSocketStream::from_raw_socket(transport, Role::Client, Some(config(limit)));
        Ok(Self {
            stream: stream.await,
        })
    }

    /// A client's connection on a stream that is open already, such as that of a local socket. `url` names the server, and
    /// `authorization` is the value of that header.
    ///
    /// # Errors
    /// The server does not accept the handshake.
    pub async fn over<S>(
        stream: S,
        url: &str,
        authorization: Option<&str>,
        limit: usize,
    ) -> Result<Self, SocketError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let mut request = url.into_client_request().map_err(lost)?;
        if let Some(value) = authorization {
            let value = HeaderValue::from_str(value);
            let mut value = value.map_err(|error| SocketError::Lost(error.to_string()))?;
            value.set_sensitive(true);
            request.headers_mut().insert("authorization", value);
        }
        let transport: AnyStream = Box::new(stream);
        let opening = client_async_with_config(request, transport, Some(config(limit)));
        match opening.await {
            Ok((stream, _)) => Ok(Self { stream }),
            Err(Error::Http(reply)) => {
                let status = reply.status();
                Err(SocketError::Lost(format!("it refuses with {status}")))
            }
            Err(error) => Err(lost(error)),
        }
    }

    /// The server's side, once the handshake was accepted. `read` was read ahead.
    pub async fn serve<S>(stream: S, read: Bytes, limit: usize) -> Self
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let transport: AnyStream = Box::new(stream);
        let config = Some(config(limit));
        let stream =
            WebSocketStream::from_partially_read(transport, read.into(), Role::Server, config);
        Self {
            stream: stream.await,
        }
    }

    /// Sends a text.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn send(&mut self, text: impl Into<SocketText>) -> Result<(), SocketError> {
        self.send_message(Message::Text(text.into())).await
    }

    /// Sends data that is not text.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn send_binary(&mut self, data: Bytes) -> Result<(), SocketError> {
        self.send_message(Message::Binary(data)).await
    }

    /// Asks the peer for a sign of life.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn ping(&mut self) -> Result<(), SocketError> {
        self.send_message(Message::Ping(Bytes::new())).await
    }

    /// Tells the peer that the connection ends. Failures make no difference.
    pub async fn close(&mut self) {
        let _ = self.stream.close(None).await;
    }

    async fn send_message(&mut self, message: Message) -> Result<(), SocketError> {
        self.stream.send(message).await.map_err(lost)
    }

    /// The next message. After an error or a close there is none.
    ///
    /// # Errors
    /// The connection is lost, or a message is too long.
    pub async fn next(&mut self) -> Result<SocketMessage, SocketError> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    /// As [`WebSocket::next`].
    ///
    /// # Errors
    /// As [`WebSocket::next`].
    pub fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<SocketMessage, SocketError>> {
        let message = ready!(Pin::new(&mut self.stream).poll_next(context));
        Poll::Ready(match message {
            Some(Ok(Message::Text(text))) => Ok(SocketMessage::Text(text)),
            Some(Ok(Message::Binary(_))) => Ok(SocketMessage::Binary),
            Some(Ok(Message::Close(_))) | None => Ok(SocketMessage::Closed),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {
                Ok(SocketMessage::Control)
            }
            Some(Err(error)) => Err(lost(error)),
        })
    }
}

fn config(limit: usize) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        // Every message is sent at once.
        .write_buffer_size(0)
        .max_message_size(Some(limit))
        .max_frame_size(Some(limit))
}

fn lost(error: Error) -> SocketError {
    match error {
        Error::Capacity(CapacityError::MessageTooLong { max_size, .. }) => {
            SocketError::TooLarge(max_size)
        }
        error => SocketError::Lost(error.to_string()),
    }
}

impl fmt::Debug for WebSocket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WebSocket").finish_non_exhaustive()
    }
}
