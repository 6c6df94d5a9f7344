//! Plays scripted replies over a websocket.
//!
//! A reply is the same as over HTTP: each server-sent event is a message, other bytes are a message as they are, and a
//! status that refuses the request is a message with the error.

use std::collections::VecDeque;
use std::pin::pin;

use bytes::Bytes;
use codex_http::{SocketMessage, WebSocket};
use serde_json::{Map, Value, json};
use tokio::net::TcpStream;

use crate::http_reply::{BodyPart, HttpReply};
use crate::sse;

const MAX_MESSAGE_BYTES: usize = 256 * 1024 * 1024;
/// Messages of the client that wait for the end of a reply.
const MAX_WAITING: usize = 4096;

/// Answers the messages of one websocket.
pub trait SocketSession: Send {
    /// The reply to a message of the client.
    fn message(&mut self, text: &str) -> HttpReply;
}

/// The end of a connection.
struct ConnectionEnd;

struct Connection {
    socket: WebSocket,
    waiting: VecDeque<String>,
}

/// Serves a websocket until either side closes it.
pub(crate) async fn serve(stream: TcpStream, read: Bytes, mut session: Box<dyn SocketSession>) {
    let socket = WebSocket::serve(stream, read, MAX_MESSAGE_BYTES).await;
    let mut connection = Connection {
        socket,
        waiting: VecDeque::new(),
    };
    loop {
        let text = match connection.waiting.pop_front() {
            Some(text) => text,
            None => match connection.read().await {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(ConnectionEnd) => return,
            },
        };
        if connection.play(session.message(&text)).await.is_err() {
            return;
        }
    }
}

impl Connection {
    /// The next text; none for messages without any.
    async fn read(&mut self) -> Result<Option<String>, ConnectionEnd> {
        match self.socket.next().await {
            Ok(SocketMessage::Text(text)) => Ok(Some(text.to_string())),
            Ok(SocketMessage::Binary | SocketMessage::Control) => Ok(None),
            Ok(SocketMessage::Closed) | Err(_) => Err(ConnectionEnd),
        }
    }

    async fn play(&mut self, reply: HttpReply) -> Result<(), ConnectionEnd> {
        if reply.is_refusal() {
            return self.send(refusal(&reply).to_string()).await;
        }
        for part in reply.into_parts() {
            match part {
                BodyPart::Bytes(bytes) => {
                    for message in sse::messages(&bytes) {
                        self.send(message).await?;
                    }
                }
                BodyPart::Binary(bytes) => {
                    let sent = self.socket.send_binary(bytes.into()).await;
                    sent.map_err(|_| ConnectionEnd)?;
                }
                BodyPart::Wait(latch) => self.meanwhile(latch.pass()).await?,
                BodyPart::Pause(time) => self.meanwhile(tokio::time::sleep(time)).await?,
                BodyPart::Stall => self.meanwhile(std::future::pending()).await?,
                BodyPart::HangUp => return Err(ConnectionEnd),
            }
        }
        Ok(())
    }

    async fn send(&mut self, text: String) -> Result<(), ConnectionEnd> {
        self.socket.send(text).await.map_err(|_| ConnectionEnd)
    }

    /// Waits, and notices when the client closes the connection.
    async fn meanwhile(&mut self, wait: impl Future<Output = ()>) -> Result<(), ConnectionEnd> {
        let mut wait = pin!(wait);
        loop {
            tokio::select! {
                () = &mut wait => return Ok(()),
                read = self.read() => match read? {
                    Some(text) if self.waiting.len() < MAX_WAITING => self.waiting.push_back(text),
                    Some(_) => return Err(ConnectionEnd),
                    None => {}
                }
            }
        }
    }
}

/// The message for a reply that refuses the request.
fn refusal(reply: &HttpReply) -> Value {
    let body: Value = serde_json::from_slice(&reply.bytes()).unwrap_or_default();
    let header = |(name, value): &(String, String)| (name.clone(), Value::from(value.as_str()));
    let headers: Map<String, Value> = reply.headers().iter().map(header).collect();
    json!({"type": "error", "status": reply.status_code(), "error": body["error"], "headers": headers})
}
