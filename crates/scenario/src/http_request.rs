//! The requests that a scripted server received.

use std::io::Read;

use codex_http::HttpRequest;
use http_body_util::{BodyExt, Limited};
use hyper::header::HeaderValue;
use serde_json::Value;

use crate::http_reply::ReplyError;

const MAX_BODY_BYTES: usize = 256 * 1024 * 1024;

/// A received request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceivedRequest {
    pub method: String,
    pub path: String,
    /// The query string.
    pub query: String,
    /// The headers; names are in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, decompressed.
    pub body: Vec<u8>,
}

impl ReceivedRequest {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name)?;
        Some(&found.1)
    }

    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Reads a request with its body.
    pub(crate) async fn read(request: HttpRequest) -> Result<Self, ReplyError> {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, MAX_BODY_BYTES).collect().await;
        let body = body.map_err(|error| ReplyError::Request(error.to_string()))?;
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let encoding = head.headers.get("content-encoding");
        let body = match encoding.map(HeaderValue::as_bytes) {
            Some(b"zstd") => decompress(&body.to_bytes())?,
            _ => body.to_bytes().into(),
        };
        Ok(Self {
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: (head.headers.iter())
                .map(|(name, value)| (name.to_string(), text(value)))
                .collect(),
            body,
        })
    }
}

fn decompress(body: &[u8]) -> Result<Vec<u8>, ReplyError> {
    let unreadable = |error: std::io::Error| ReplyError::Request(error.to_string());
    let decoder = zstd::Decoder::new(body).map_err(unreadable)?;
    let mut whole = Vec::new();
    let mut limited = decoder.take(MAX_BODY_BYTES as u64);
    limited.read_to_end(&mut whole).map_err(unreadable)?;
    Ok(whole)
}
