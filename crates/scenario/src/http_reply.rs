//! The replies of a scripted server, including faults.

use std::future::pending;
use std::time::Duration;
use std::vec::IntoIter;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use http_body_util::StreamBody;
use hyper::Response;
use hyper::body::Frame;
use serde_json::Value;

use crate::{Latch, sse};

/// What the server does with one request.
#[derive(Clone, Debug, Default)]
pub struct HttpReply {
    status: u16,
    headers: Vec<(String, String)>,
    parts: Vec<BodyPart>,
}

/// A part of a body, or a fault.
#[derive(Clone, Debug)]
pub(crate) enum BodyPart {
    Bytes(Vec<u8>),
    Binary(Vec<u8>),
    Wait(Latch),
    Pause(Duration),
    Stall,
    HangUp,
}

/// Why a connection ends without a reply, or within one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplyError {
    #[error("the scenario closes the connection")]
    Cut,
    #[error("the request cannot be read: {0}")]
    Request(String),
    #[error("the reply has no valid head: {0}")]
    Head(#[from] hyper::http::Error),
}

type Body = StreamBody<BoxStream<'static, Result<Frame<Bytes>, ReplyError>>>;

impl HttpReply {
    /// A reply with a status and an empty body.
    pub fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    /// A stream of server-sent events.
    pub fn stream<'a>(events: impl IntoIterator<Item = &'a Value>) -> Self {
        Self::status(200)
            .header("content-type", "text/event-stream")
            .body(sse::frames(events))
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self::status(status)
            .header("content-type", "application/json")
            .body(body.to_string())
    }

    /// No reply; the connection stays open.
    pub fn silence() -> Self {
        Self::default().stall()
    }

    /// No reply; the connection is closed.
    pub fn hang_up() -> Self {
        Self::default().cut()
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a part of the body, which is sent separately.
    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.parts.push(BodyPart::Bytes(bytes.into()));
        self
    }

    /// Adds data that is no text, as a message of its own on a websocket.
    pub fn binary(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.parts.push(BodyPart::Binary(bytes.into()));
        self
    }

    /// Waits until the latch is open.
    pub fn wait(mut self, latch: &Latch) -> Self {
        self.parts.push(BodyPart::Wait(latch.clone()));
        self
    }

    /// Waits for a time.
    pub fn pause(mut self, duration: Duration) -> Self {
        self.parts.push(BodyPart::Pause(duration));
        self
    }

    /// Sends nothing more, but keeps the connection open.
    pub fn stall(mut self) -> Self {
        self.parts.push(BodyPart::Stall);
        self
    }

    /// Closes the connection within the body.
    pub fn cut(mut self) -> Self {
        self.parts.push(BodyPart::HangUp);
        self
    }

    /// The reply for the HTTP library. An error makes the server close the connection.
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

    pub(crate) fn is_refusal(&self) -> bool {
        self.status >= 300
    }

    pub(crate) fn status_code(&self) -> u16 {
        self.status
    }

    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    pub(crate) fn into_parts(self) -> Vec<BodyPart> {
        self.parts
    }

    /// The text of the body.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let texts = self.parts.iter().filter_map(|part| match part {
            BodyPart::Bytes(bytes) => Some(bytes.as_slice()),
            _ => None,
        });
        texts.collect::<Vec<_>>().concat()
    }

    /// The reply that accepts the handshake of a websocket.
    pub(crate) fn switching(headers: [(String, String); 3]) -> Self {
        Self {
            status: 101,
            headers: headers.into(),
            parts: Vec::new(),
        }
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

/// The next part of the body, after the pauses before it.
async fn next_bytes(parts: &mut IntoIter<BodyPart>) -> Result<Option<Bytes>, ReplyError> {
    for part in parts {
        match part {
            BodyPart::Bytes(bytes) if bytes.is_empty() => {}
            BodyPart::Bytes(bytes) | BodyPart::Binary(bytes) => return Ok(Some(bytes.into())),
            BodyPart::Wait(latch) => latch.pass().await,
            BodyPart::Pause(duration) => tokio::time::sleep(duration).await,
            BodyPart::Stall => pending().await,
            BodyPart::HangUp => {
                // Earlier parts are written while this task yields; the error would discard them.
                tokio::task::yield_now().await;
                return Err(ReplyError::Cut);
            }
        }
    }
    Ok(None)
}

impl std::fmt::Display for HttpReply {
    /// Prints what is sent, without chunk framing and pauses.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.head())?;
        formatter.write_str(&String::from_utf8_lossy(&self.bytes()))
    }
}
