//! Asking a server: its reply, bounded in time and size.

use std::fmt::Write as _;
use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::Value;

use crate::sent_secrets::SentSecrets;

/// A longer reply is none that anybody asked for.
const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// Why there is no reply. It does not name the address, whose query may hold secrets.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The server takes too long.
    #[error("no reply within {} seconds", .0.as_secs())]
    Timeout(Duration),
    /// The reply is not read to its end.
    #[error("the reply is larger than {MAX_REPLY_BYTES} bytes")]
    TooLarge,
    /// The server is not reached, or the connection breaks.
    #[error("{0}")]
    Connection(String),
}

/// What a server replied.
#[derive(Debug)]
pub struct BoundedReply {
    /// The status.
    pub status: u16,
    /// The words after the status.
    pub reason: String,
    /// Of what kind it says that it is.
    pub content_type: String,
    /// Its body.
    pub body: Vec<u8>,
}

impl BoundedReply {
    /// Whether the server did what it was asked.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The answer without these secrets of its request, if it is a refusal. Of one, words are shown.
    #[must_use]
    pub fn without(mut self, secrets: &[&str]) -> Self {
        if !self.is_success() {
            let mut sent = SentSecrets::default();
            secrets.iter().for_each(|secret| sent.add(secret));
            let text = String::from_utf8_lossy(&self.body).into_owned();
            self.body = sent.redact(text).into_bytes();
        }
        self
    }

    /// The body as JSON; null if it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Sends a request and reads its reply.
///
/// # Errors
/// There is none within this time.
pub async fn fetch(request: RequestBuilder, time: Duration) -> Result<BoundedReply, FetchError> {
    let answer = tokio::time::timeout(time, read(request)).await;
    answer.unwrap_or(Err(FetchError::Timeout(time)))
}

async fn read(request: RequestBuilder) -> Result<BoundedReply, FetchError> {
    let broken = |error| FetchError::Connection(text(error));
    let mut response = request.send().await.map_err(broken)?;
    let status = response.status();
    let content_type = response.headers().get("content-type");
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > MAX_REPLY_BYTES {
            return Err(FetchError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(BoundedReply {
        status: status.as_u16(),
        reason: status.canonical_reason().unwrap_or_default().to_owned(),
        content_type,
        body,
    })
}

/// The text of an error and of its causes, without the address, whose query may hold secrets.
fn text(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
