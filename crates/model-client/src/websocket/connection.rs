//! An open websocket with what is known about it.

use codex_http::{SentSecrets, WebSocket};

use super::message::LastResponse;
use crate::credential::Authorization;
use crate::stream::Events;

#[derive(Debug)]
pub(super) struct SocketConnection {
    pub(super) socket: WebSocket,
    /// The login that it was opened with. Requests with another one need another connection.
    pub(super) authorization: Authorization,
    /// Removed from errors.
    pub(super) secrets: SentSecrets,
    /// The model that the server named last.
    pub(super) server_model: Option<String>,
    /// What the reply to the handshake says, for the first request.
    pub(super) facts: Events,
    /// The response that the next request may continue.
    pub(super) last: Option<LastResponse>,
}
