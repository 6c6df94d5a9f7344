//! Layer: foundation. Bytes to messages, and messages from an [`Outbox`] to bytes: over standard streams, websockets on a
//! TCP port or unix socket, and within the process. Knows no method and no JSON: it serves a [`Service`].
//!
//! `stdio` serves the client that started the process, `listener` many clients over websockets, `in_memory` a client in
//! this process. At a signal all shut down cleanly: the service ends its work, and pending messages are sent.

mod admission;
mod auth;
mod frame;
mod http;
mod in_memory;
mod line_streams;
mod lines;
mod listener;
mod listening_socket;
mod message;
mod outbox;
mod owner_listener;
mod peer;
mod stdio;
mod stdout;
#[cfg_attr(not(unix), path = "no_unix_socket.rs")]
mod unix_socket;
mod websocket;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use auth::{Auth, AuthError, Secret, SignedTokens};
pub use in_memory::{InMemory, serve_in_memory, serve_in_memory_beside_others};
pub use line_streams::{LineStreams, LineWriter, line_streams};
pub use lines::Lines;
pub use listener::Listener;
pub use listening_socket::{ByteStream, Listen};
pub use message::{EncodedMessage, MessagePieces};
pub use outbox::{Batch, Limits, Outbox, OutboxFull};
pub use owner_listener::{OwnerListener, UncheckedClient};
pub use stdio::serve_stdio;

/// The default limit of a message.
pub const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;

/// The time limit for threads to end.
const GRACE_TIME: Duration = Duration::from_millis(1300);

/// The time limit for requests that came before the end of the input.
const LAST_REQUESTS: Duration = Duration::from_millis(250);

/// The time limit for a client to read the last messages. Together the limits stay below two seconds.
const LAST_WORDS: Duration = Duration::from_millis(400);

/// The service behind the transports. They know nothing else about it.
#[async_trait]
pub trait Service: Send + Sync + 'static {
    type MessageHandler: MessageHandler;

    /// A client has connected.
    fn connect(self: Arc<Self>, limits: Limits) -> ConnectedClient<Self::MessageHandler>;

    /// A client has disconnected.
    async fn disconnect(&self, client: u64);

    /// Waits until all work that should finish has ended.
    async fn until_idle(&self);

    /// Ends all work.
    async fn shut_down(&self);

    /// Sends nothing more to any client.
    fn close_connections(&self);
}

/// A client that has connected.
pub struct ConnectedClient<S> {
    pub id: u64,
    /// Handles the messages of the client.
    pub session: S,
    /// The messages to the client.
    pub outbox: Arc<Outbox>,
}

impl<S> fmt::Debug for ConnectedClient<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectedClient")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Handles the messages of one client.
#[async_trait]
pub trait MessageHandler: Send + 'static {
    async fn take(&mut self, message: InputLine);

    /// Completes what was begun in order, after the last message.
    async fn finish(&mut self);
}

/// Ends all work within the time limit.
async fn end_work(service: &impl Service) {
    if tokio::time::timeout(GRACE_TIME, service.shut_down())
        .await
        .is_err()
    {
        tracing::warn!("some threads did not end in time");
    }
}

/// A message of a client.
#[derive(Debug, PartialEq, Eq)]
pub enum InputLine {
    /// The message without its line end.
    Whole(Vec<u8>),
    /// The message exceeded the limit and was skipped.
    TooLong,
}
