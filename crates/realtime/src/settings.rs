//! Where a conversation is held, and its handshake.

use std::time::Duration;

use codex_http::{HandshakeKey, HttpPool, SentSecrets, WebSocket, error_text, refused_redirect};
use codex_protocol::{RealtimeConversationVersion, Secret};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// The longest message of a server, enough for a minute of sound.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
const MAX_ERROR_BYTES: usize = 1000;

/// What a conversation is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RealtimeKind {
    /// The model listens and speaks.
    #[default]
    Conversational,
    /// The model only writes down what it hears.
    Transcription,
}

/// The settings of a conversation.
#[derive(Clone, Debug)]
pub struct RealtimeSettings {
    /// The address of the provider.
    pub base_url: String,
    /// Parameters of the URL.
    pub query: Vec<(String, String)>,
    pub headers: Vec<(String, String)>,
    /// The key of the provider.
    pub key: Secret,
    pub version: RealtimeConversationVersion,
    pub kind: RealtimeKind,
    pub model: Option<String>,
    /// The voice of the model, in place of the default one.
    pub voice: Option<String>,
    /// Whether the model writes in place of speaking.
    pub writes: bool,
    /// The instructions for the model.
    pub instructions: String,
    /// The id that the provider is told.
    pub session_id: String,
    /// How long opening the connection may take, and sending a message.
    pub timeout: Duration,
}

/// Why there is no conversation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("the address of the realtime server is not a URL: {0}")]
    Url(String),
    #[error("the realtime server cannot be reached: {0}")]
    Connection(String),
    #[error("the realtime server refuses the connection with status {status}: {text}")]
    Refused { status: u16, text: String },
    #[error("the realtime server did not reply within {0:?}")]
    TimedOut(Duration),
}

impl RealtimeSettings {
    /// The URL of the conversation, for an HTTP request.
    fn url(&self) -> Result<reqwest::Url, ConnectError> {
        let unusable = |error: &dyn std::fmt::Display| ConnectError::Url(error.to_string());
        let base = match self.base_url.split_once("://") {
            Some(("ws", rest)) => format!("http://{rest}"),
            Some(("wss", rest)) => format!("https://{rest}"),
            _ => self.base_url.clone(),
        };
        let mut url = reqwest::Url::parse(&base).map_err(|error| unusable(&error))?;
        let path = url.path().trim_end_matches('/').to_owned();
        let path = match path.as_str() {
            "" => "/v1/realtime".to_owned(),
            path if path.ends_with("/v1") => format!("{path}/realtime"),
            path => path.to_owned(),
        };
        url.set_path(&path);
        let is_first = self.version == RealtimeConversationVersion::V1;
        let intent = is_first.then_some(("intent", "quicksilver"));
        let model = self.model.as_deref().map(|model| ("model", model));
        let own: Vec<_> = intent.into_iter().chain(model).collect();
        let configured = self.query.iter().map(|(name, value)| (&**name, &**value));
        let others: Vec<_> = configured
            .filter(|(name, _)| own.iter().all(|(known, _)| known != name))
            .collect();
        if !own.is_empty() || !others.is_empty() {
            url.query_pairs_mut().extend_pairs(own).extend_pairs(others);
        }
        Ok(url)
    }

    fn headers(&self, key: &HandshakeKey) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let bearer = format!("Bearer {}", self.key.reveal());
        let own = [
            ("authorization", bearer.as_str()),
            ("x-session-id", self.session_id.as_str()),
        ];
        let others = self.headers.iter().map(|(name, value)| (&**name, &**value));
        for (name, value) in others.chain(own) {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_str(value)) {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        key.add_headers(&mut headers);
        headers
    }

    /// Opens the connection.
    pub(crate) async fn open(&self, pool: &HttpPool) -> Result<WebSocket, ConnectError> {
        let opened = tokio::time::timeout(self.timeout, self.handshake(pool)).await;
        opened.unwrap_or(Err(ConnectError::TimedOut(self.timeout)))
    }

    async fn handshake(&self, pool: &HttpPool) -> Result<WebSocket, ConnectError> {
        let url = self.url()?;
        let key = HandshakeKey::new();
        let headers = self.headers(&key);
        let secrets = SentSecrets::from_headers(&headers);
        let failed = |text: String| ConnectError::Connection(secrets.redact(text));
        let client = pool.client(url.as_str());
        let client = client.map_err(|error| failed(error.to_string()))?;
        let reply = client.get(url).headers(headers.clone()).send().await;
        let reply = reply.map_err(|error| failed(error_text(error)))?;
        let status = reply.status().as_u16();
        if status == 101 {
            let socket = WebSocket::connect(reply, &key, MAX_MESSAGE_BYTES).await;
            return socket.map_err(|error| failed(error.to_string()));
        }
        let redirected = refused_redirect(status, reply.headers());
        let text = match redirected {
            Some(text) => text,
            None => secrets.redact(beginning(reply).await),
        };
        Err(ConnectError::Refused { status, text })
    }
}

async fn beginning(mut reply: reqwest::Response) -> String {
    let mut body = Vec::new();
    while body.len() < MAX_ERROR_BYTES
        && let Ok(Some(chunk)) = reply.chunk().await
    {
        body.extend_from_slice(&chunk);
    }
    body.truncate(MAX_ERROR_BYTES);
    String::from_utf8_lossy(&body).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_and_the_query_are_completed() {
        let check = |base: &str, version, expected: &str| {
            let settings = RealtimeSettings {
                base_url: base.to_owned(),
                query: [("intent", "mine"), ("a", "b c")]
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into(),
                headers: Vec::new(),
                key: Secret::from("k"),
                version,
                kind: RealtimeKind::default(),
                model: Some("m".to_owned()),
                voice: None,
                writes: false,
                instructions: String::new(),
                session_id: String::new(),
                timeout: Duration::from_secs(1),
            };
            assert_eq!(settings.url().unwrap().as_str(), expected);
        };
        let (v1, v2) = (
            RealtimeConversationVersion::V1,
            RealtimeConversationVersion::V2,
        );
        let expected = "https://x/v1/realtime?intent=quicksilver&model=m&a=b+c";
        check("wss://x", v1, expected);
        check("https://x/v1", v1, expected);
        check("wss://x/own", v2, "https://x/own?model=m&intent=mine&a=b+c");
        check(
            "http://x/v1/",
            v2,
            "http://x/v1/realtime?model=m&intent=mine&a=b+c",
        );
        check(
            "ws://x/own/realtime",
            v2,
            "http://x/own/realtime?model=m&intent=mine&a=b+c",
        );
    }
}
