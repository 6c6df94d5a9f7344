//! A JSON-RPC client on a websocket. Every message is checked.

use std::io;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, http};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::{MessageCheck, ProtocolObserver};

/// How long a test waits for a message before it fails.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// More bytes than the notifications before a long message have.
const BEGIN_OF_MESSAGE: usize = 64 * 1024;

/// The server refused to open a websocket.
#[derive(Debug)]
pub struct UpgradeRefused {
    pub status_line: String,
}

#[derive(Debug)]
pub struct WebSocket<S> {
    stream: WebSocketStream<S>,
    check: Box<dyn MessageCheck>,
    next_id: i64,
}

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocket<S> {
    /// Connects to an app-server over a stream with additional headers.
    pub async fn connect(stream: S, headers: &str) -> io::Result<Result<Self, UpgradeRefused>> {
        Self::connect_to_other(stream, headers, Box::<ProtocolObserver>::default()).await
    }

    /// Connects to a server of another protocol, whose messages are held against this.
    pub async fn connect_to_other(
        stream: S,
        headers: &str,
        check: Box<dyn MessageCheck>,
    ) -> io::Result<Result<Self, UpgradeRefused>> {
        let mut request = "ws://localhost/".into_client_request().map_err(failed)?;
        for header in headers.split_terminator("\r\n") {
            let (name, value) = header.split_once(':').ok_or(io::ErrorKind::InvalidInput)?;
            let name: http::HeaderName = name.parse().map_err(io::Error::other)?;
            let value = value.trim().parse().map_err(io::Error::other)?;
            request.headers_mut().insert(name, value);
        }
        let unlimited = WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        match client_async_with_config(request, stream, Some(unlimited)).await {
            Ok((stream, _)) => Ok(Ok(Self {
                stream,
                check,
                next_id: 0,
            })),
            Err(Error::Http(reply)) => {
                let (version, status) = (reply.version(), reply.status());
                let status_line = format!("{version:?} {status}");
                Ok(Err(UpgradeRefused { status_line }))
            }
            Err(error) => Err(failed(error)),
        }
    }

    pub async fn send(&mut self, message: &Value) -> io::Result<()> {
        self.check.sent(message);
        self.send_frame(Message::text(message.to_string())).await
    }

    /// Sends an answer that no schema accepts.
    pub async fn send_wrong_answer(&mut self, message: &Value) -> io::Result<()> {
        self.check.sent_wrong_answer(message);
        self.send_frame(Message::text(message.to_string())).await
    }

    async fn send_frame(&mut self, message: Message) -> io::Result<()> {
        self.stream.send(message).await.map_err(failed)
    }

    /// The next message; `None` once the server has closed the websocket.
    pub async fn receive(&mut self) -> io::Result<Option<Value>> {
        loop {
            match self.receive_any().await? {
                Message::Close(_) => return Ok(None),
                Message::Text(text) => return self.observe(&text).map(Some),
                _ => {}
            }
        }
    }

    async fn receive_any(&mut self) -> io::Result<Message> {
        let message = tokio::time::timeout(TIME_LIMIT, self.stream.next()).await?;
        message.ok_or(io::ErrorKind::UnexpectedEof)?.map_err(failed)
    }

    fn observe(&mut self, text: &str) -> io::Result<Value> {
        let message = serde_json::from_str(text)?;
        self.check.received(&message);
        Ok(message)
    }

    /// Closes the websocket, waits for the server to close it too, and checks what is unfinished.
    pub async fn finish(mut self) -> io::Result<()> {
        let frame = CloseFrame {
            code: CloseCode::Normal,
            reason: "".into(),
        };
        self.send_frame(Message::Close(Some(frame))).await?;
        while self.receive().await?.is_some() {}
        self.check.finish();
        Ok(())
    }

    /// Waits for a notification or a request of the server. Earlier messages are dropped.
    pub async fn wait_for(&mut self, method: &str) -> io::Result<Value> {
        loop {
            let message = self.receive().await?;
            let message = message.ok_or(io::ErrorKind::UnexpectedEof)?;
            if message["method"] == method {
                return Ok(message);
            }
        }
    }

    /// Sends a request and waits for its reply. Earlier messages are dropped.
    pub async fn call(&mut self, method: &str, params: Value) -> io::Result<Value> {
        let id = self.begin(method, params).await?;
        loop {
            let message = self.receive().await?;
            let message = message.ok_or(io::ErrorKind::UnexpectedEof)?;
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }

    /// Sends a request without waiting for its reply.
    pub async fn begin(&mut self, method: &str, params: Value) -> io::Result<i64> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "id": id, "method": method, "params": params });
        self.send(&request).await?;
        Ok(id)
    }
}

impl WebSocket<TcpStream> {
    /// Sends a ping when a long message has begun to arrive. Returns the message, and whether the pong arrived
    /// before its end.
    pub async fn ping_inside_a_message(&mut self) -> io::Result<(Value, bool)> {
        let mut begin = vec![0; BEGIN_OF_MESSAGE];
        while self.stream.get_ref().peek(&mut begin).await? < BEGIN_OF_MESSAGE {
            tokio::task::yield_now().await;
        }
        self.send_frame(Message::Ping("still there?".into()))
            .await?;
        let mut is_answered = false;
        loop {
            match self.receive_any().await? {
                Message::Pong(payload) => is_answered |= payload == "still there?",
                Message::Text(text) => return Ok((self.observe(&text)?, is_answered)),
                Message::Close(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => {}
            }
        }
    }
}

fn failed(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        other => io::Error::other(other),
    }
}
