//! The two transports, behind one type.

use std::sync::Arc;

use reqwest::header::HeaderMap;
use tokio_util::sync::CancellationToken;

use crate::dispatcher::MessageDispatcher;
use crate::error::McpError;
use crate::http::HttpTransport;
use crate::stdio::StdioTransport;

#[derive(Debug)]
pub(crate) enum Transport {
    Stdio(StdioTransport),
    Http(Box<HttpTransport>),
}

impl Transport {
    /// Sends a message; `request` is its id if it is a request. With HTTP it has these headers, and this returns only after
    /// the whole reply was dispatched.
    pub(crate) async fn send(
        &self,
        message: String,
        request: Option<u64>,
        headers: HeaderMap,
        dispatcher: &Arc<MessageDispatcher>,
    ) -> Result<(), McpError> {
        match self {
            Self::Stdio(stdio) => stdio.send(message).await,
            Self::Http(http) => http.send(message, request, headers, dispatcher).await,
        }
    }

    /// Whether `send` dispatches the reply before it returns.
    pub(crate) fn answers_in_place(&self) -> bool {
        match self {
            Self::Stdio(_) => false,
            Self::Http(http) => http.answers_in_place(),
        }
    }

    /// Whether the server is first asked which revisions it knows. A program is not: older ones may end at a request
    /// before the handshake, or never reply to it.
    pub(crate) fn discovers_first(&self) -> bool {
        match self {
            Self::Stdio(_) => false,
            Self::Http(http) => http.discovers_first(),
        }
    }

    /// Opens a stream for all replies, if the server has one, as some of the revision 2024-11-05 have.
    pub(crate) async fn open_reply_stream(
        &self,
        dispatcher: &Arc<MessageDispatcher>,
        closed: CancellationToken,
    ) -> Result<bool, McpError> {
        match self {
            Self::Stdio(_) => Ok(false),
            Self::Http(http) => http.open_reply_stream(dispatcher, closed).await,
        }
    }

    /// Sets the protocol version that the handshake agreed on.
    pub(crate) fn set_protocol_version(&self, version: &str) {
        if let Self::Http(http) = self {
            http.set_protocol_version(version);
        }
    }

    /// Forgets the session, because a new one is about to start.
    pub(crate) fn forget_session(&self) {
        if let Self::Http(http) = self {
            http.forget_session();
        }
    }

    /// Listens to messages that the server sends on its own, until the connection is closed.
    pub(crate) async fn listen(&self, dispatcher: &Arc<MessageDispatcher>) {
        match self {
            // They arrive with all other output.
            Self::Stdio(_) => {}
            Self::Http(http) => http.listen(dispatcher).await,
        }
    }

    /// Ends the session at the server.
    pub(crate) async fn close(&self) {
        match self {
            // The end of the program's input is enough.
            Self::Stdio(_) => {}
            Self::Http(http) => http.close().await,
        }
    }
}
