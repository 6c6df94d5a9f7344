//! Calls of the identity server and of the backend: their replies, bounded in time and size.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use codex_model_client::ClientIdentity;
use codex_model_client::HttpPool;
use reqwest::RequestBuilder;
use serde_json::Value;

/// How long a call may take.
const TIME: Duration = Duration::from_secs(30);
/// A longer reply is none of theirs.
const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// The way to servers.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) http: Arc<HttpPool>,
    pub(crate) identity: ClientIdentity,
}

/// What a server replied.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The words after the status.
    pub(crate) reason: String,
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Caller {
    pub(crate) async fn post_form(
        &self,
        url: &str,
        fields: &[(&str, &str)],
    ) -> Result<Answer, String> {
        let client = self.client(url)?;
        let request = client
            .post(url)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form(fields));
        self.send(request).await
    }

    pub(crate) async fn post_json(&self, url: &str, body: &Value) -> Result<Answer, String> {
        let client = self.client(url)?;
        let request = client
            .post(url)
            .header("content-type", "application/json")
            .body(body.to_string());
        self.send(request).await
    }

    pub(crate) async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Answer, String> {
        let mut request = self.client(url)?.get(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request).await
    }

    fn client(&self, url: &str) -> Result<&reqwest::Client, String> {
        self.http.client(url).map_err(|error| error.to_string())
    }

    async fn send(&self, request: RequestBuilder) -> Result<Answer, String> {
        let request = request
            .header("user-agent", &self.identity.user_agent)
            .header("originator", &self.identity.originator);
        let answer = tokio::time::timeout(TIME, read(request)).await;
        let seconds = TIME.as_secs();
        answer.unwrap_or_else(|_| Err(format!("no reply within {seconds} seconds")))
    }
}

async fn read(request: RequestBuilder) -> Result<Answer, String> {
    let mut response = request.send().await.map_err(text)?;
    let status = response.status();
    let content_type = response.headers().get("content-type");
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(text)? {
        if body.len() + chunk.len() > MAX_REPLY_BYTES {
            return Err(format!("the reply is larger than {MAX_REPLY_BYTES} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer {
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

/// Names and values as a form, or as what follows the question mark of an address.
pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| format!("{}={}", encode(name), encode(value));
    let pairs: Vec<String> = fields.iter().map(pair).collect();
    pairs.join("&")
}

fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// The parameters of a query.
pub(crate) fn parameters(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        })
        .collect()
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| *first == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        (rest, _) = match byte {
            Some(byte) => (&after[2..], bytes.push(byte)),
            None if *first == b'+' => (after, bytes.push(b' ')),
            None => (after, bytes.push(*first)),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_read_back() {
        let fields = [("a b", "ü&=%"), ("c", "")];
        let text = form(&fields);
        assert_eq!(text, "a%20b=%C3%BC%26%3D%25&c=");
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        assert_eq!(
            parameters(&text),
            fields.iter().map(owned).collect::<Vec<_>>()
        );
        assert_eq!(decode("a+b%2"), "a b%2");
        assert_eq!(decode("%zz%41"), "%zzA");
    }
}
