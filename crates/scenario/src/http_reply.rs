//! A reply of a scripted server, with everything that can go wrong with one.

use std::future::pending;
use std::time::Duration;
use std::vec::IntoIter;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use http_body_util::StreamBody;
use hyper::Response;
use hyper::body::Frame;
use serde_json::Value;

use crate::{Gate, sse};

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

/// Why a connection ends without a reply, or in the middle of one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplyError {
    #[error("the script has the connection closed")]
    Cut,
    #[error("the request cannot be read: {0}")]
    Request(String),
    #[error("the reply has no valid head: {0}")]
    Head(#[from] hyper::http::Error),
}

type Body = StreamBody<BoxStream<'static, Result<Frame<Bytes>, ReplyError>>>;

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

    /// The reply as the server sends it. A connection that is to be silent or to be closed has none.
    pub(crate) async fn into_response(self) -> Result<Response<Body>, ReplyError> {
        let mut parts = self.parts.into_iter();
        if self.status == 0 {
            while next_bytes(&mut parts).await?.is_some() {}
            return Err(ReplyError::Cut);
        }
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        let body = stream::try_unfold(parts, async |mut parts| {
            let bytes = next_bytes(&mut parts).await?;
            Ok(bytes.map(|bytes| (Frame::data(bytes), parts)))
        });
        Ok(response.body(StreamBody::new(body.boxed()))?)
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

/// The next piece of a body, after what happens before it.
async fn next_bytes(parts: &mut IntoIter<Part>) -> Result<Option<Bytes>, ReplyError> {
    for part in parts {
        match part {
            Part::Bytes(bytes) if bytes.is_empty() => {}
            Part::Bytes(bytes) => return Ok(Some(bytes.into())),
            Part::Wait(gate) => gate.pass().await,
            Part::Pause(duration) => tokio::time::sleep(duration).await,
            Part::Stall => pending().await,
            Part::HangUp => {
                // What came before is written while this waits, and would be lost with the error.
                tokio::task::yield_now().await;
                return Err(ReplyError::Cut);
            }
        }
    }
    Ok(None)
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
