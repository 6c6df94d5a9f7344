//! A reply of a scripted server, with everything that can go wrong with one.

use std::future::pending;
use std::io;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;

use crate::Gate;
use crate::sse;

/// What a server does with one request.
#[derive(Clone, Debug, Default)]
pub struct HttpReply {
    status: u16,
    headers: Vec<(String, String)>,
    parts: Vec<Part>,
}

/// A part of a body, or what happens in its place.
#[derive(Clone, Debug)]
enum Part {
    Bytes(Vec<u8>),
    Wait(Gate),
    Pause(Duration),
    Stall,
    HangUp,
}

/// Whether a connection can be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    KeepAlive,
    Close,
}

impl HttpReply {
    /// A reply with a status and nothing else.
    pub fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    /// A stream of these events.
    pub fn stream<'a>(events: impl IntoIterator<Item = &'a Value>) -> Self {
        Self::status(200)
            .header("content-type", "text/event-stream")
            .body(sse::frames(events))
    }

    /// A reply in JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::status(status)
            .header("content-type", "application/json")
            .body(body.to_string())
    }

    /// No reply: the connection stays open and silent.
    pub fn silence() -> Self {
        Self::default().stall()
    }

    /// No reply: the connection is closed.
    pub fn hang_up() -> Self {
        Self::default().cut()
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a piece of the body, which is sent on its own.
    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.parts.push(Part::Bytes(bytes.into()));
        self
    }

    /// Stops until the gate is opened.
    pub fn wait(mut self, gate: &Gate) -> Self {
        self.parts.push(Part::Wait(gate.clone()));
        self
    }

    /// Stops for a while.
    pub fn pause(mut self, duration: Duration) -> Self {
        self.parts.push(Part::Pause(duration));
        self
    }

    /// Sends nothing any more, and keeps the connection open.
    pub fn stall(mut self) -> Self {
        self.parts.push(Part::Stall);
        self
    }

    /// Closes the connection in the middle.
    pub fn cut(mut self) -> Self {
        self.parts.push(Part::HangUp);
        self
    }

    /// Sends the reply.
    pub(crate) async fn send(
        &self,
        stream: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<Connection> {
        if self.status != 0 {
            stream.write_all(self.head().as_bytes()).await?;
        }
        for part in &self.parts {
            match part {
                Part::Bytes(bytes) if bytes.is_empty() => {}
                Part::Bytes(bytes) => {
                    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                    chunk.extend_from_slice(bytes);
                    chunk.extend_from_slice(b"\r\n");
                    stream.write_all(&chunk).await?;
                }
                Part::Wait(gate) => {
                    stream.flush().await?;
                    gate.pass().await;
                }
                Part::Pause(duration) => {
                    stream.flush().await?;
                    tokio::time::sleep(*duration).await;
                }
                Part::Stall => {
                    stream.flush().await?;
                    pending::<()>().await;
                }
                Part::HangUp => return Ok(Connection::Close),
            }
        }
        stream.write_all(b"0\r\n\r\n").await?;
        Ok(Connection::KeepAlive)
    }

    fn head(&self) -> String {
        let mut head = format!("HTTP/1.1 {} Scripted\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("transfer-encoding: chunked\r\n\r\n");
        head
    }
}

impl std::fmt::Display for HttpReply {
    /// What is sent, without the framing of its pieces and without what happens between them.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.head())?;
        for part in &self.parts {
            if let Part::Bytes(bytes) = part {
                formatter.write_str(&String::from_utf8_lossy(bytes))?;
            }
        }
        Ok(())
    }
}
