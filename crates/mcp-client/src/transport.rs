//! The ways to a server.

use std::sync::Arc;

use crate::error::McpError;
use crate::http::Http;
use crate::inbox::Inbox;
use crate::stdio::Stdio;

/// The way to one server.
#[derive(Debug)]
pub(crate) enum Transport {
    Stdio(Stdio),
    Http(Box<Http>),
}

impl Transport {
    /// Sends a message. Ends when nothing more comes back on the way that it took: with HTTP that is
    /// the end of the answer.
    pub(crate) async fn send(&self, message: String, inbox: &Arc<Inbox>) -> Result<(), McpError> {
        match self {
            Self::Stdio(stdio) => stdio.send(message).await,
            Self::Http(http) => http.send(message, inbox).await,
        }
    }

    /// Whether the answer to a message comes back before the end of sending it.
    pub(crate) fn answers_in_place(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// The handshake is done, in this version of the protocol.
    pub(crate) fn agreed(&self, version: &str) {
        if let Self::Http(http) = self {
            http.agreed(version);
        }
    }

    /// The session is about to be begun anew.
    pub(crate) fn forget_session(&self) {
        if let Self::Http(http) = self {
            http.forget_session();
        }
    }

    /// Hears what comes unasked, until the connection is closed or the server has nothing of the kind.
    pub(crate) async fn listen(&self, inbox: &Arc<Inbox>) {
        match self {
            // Everything comes on the one way.
            Self::Stdio(_) => {}
            Self::Http(http) => http.listen(inbox).await,
        }
    }

    /// Says goodbye.
    pub(crate) async fn close(&self) {
        match self {
            // A program learns it from the end of its input.
            Self::Stdio(_) => {}
            Self::Http(http) => http.close().await,
        }
    }
}
