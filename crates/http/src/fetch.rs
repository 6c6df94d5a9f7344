//! Sends a request and reads its reply, with limits on time and size.

use std::fmt::Write as _;
use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::Value;

use crate::sent_secrets::SentSecrets;

/// Longer replies are an error.
const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// Why there is no reply. The messages leave out the URL, whose query may hold secrets.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The time limit was exceeded.
    #[error("no reply within {} seconds", .0.as_secs())]
    Timeout(Duration),
    /// The reply is too large.
    #[error("the reply is larger than {MAX_REPLY_BYTES} bytes")]
    TooLarge,
    /// The connection failed.
    #[error("{0}")]
    Connection(String),
}

/// A complete reply.
#[derive(Debug)]
pub struct BoundedReply {
    /// The status.
    pub status: u16,
    /// The reason phrase of the status.
    pub reason: String,
    /// The content type.
    pub content_type: String,
    /// The body.
    pub body: Vec<u8>,
}

impl BoundedReply {
    /// Whether the status is a success.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Removes secrets of the request from the body of an error reply, because its text is shown.
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

    /// The body as JSON; null if it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Sends a request and reads its reply.
///
/// # Errors
/// The request failed or took too long.
pub async fn fetch(request: RequestBuilder, time: Duration) -> Result<BoundedReply, FetchError> {
    let answer = tokio::time::timeout(time, read(request)).await;
    answer.unwrap_or(Err(FetchError::Timeout(time)))
}

async fn read(request: RequestBuilder) -> Result<BoundedReply, FetchError> {
    let broken = |error| FetchError::Connection(text(error));
    let mut response = request.send().await.map_err(broken)?;
    let status = response.status();
    let header = response.headers().get("content-type");
    let content_type = header
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned();
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

/// The text of an error and its causes, without the URL, whose query may hold secrets.
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
