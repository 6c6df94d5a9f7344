//! The ways in: bytes from a client to messages for the router, and messages from its outbox to bytes.
//!
//! [`stdio`] serves the one client that started the process, [`listener`] any number of clients over
//! websockets, on a TCP port or on a unix socket, [`in_memory`] a part of this program. All end in good order at a signal: turns are ended,
//! logs written, processes stopped, and what clients are still owed is sent.

mod admission;
mod auth;
mod frame;
mod http;
mod in_memory;
mod lines;
mod listener;
mod peer;
mod signals;
mod stdio;
mod stdout;
#[cfg(unix)]
mod unix_socket;
mod websocket;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::outbox::{Limits, Outbox};

pub use auth::{Auth, AuthError, Secret, SignedTokens};
pub use in_memory::InMemory;
pub(crate) use in_memory::serve_in_memory;
pub use listener::{Listen, Listener};
pub(crate) use stdio::serve_stdio;

#[cfg(test)]
pub(crate) use lines::Lines;

/// The longest message that is read unless somebody says otherwise.
pub const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;

/// How long threads may take to end.
const GRACE: Duration = Duration::from_millis(1500);

/// How long a client may take to read the last of it. Both together stay below two seconds.
const LAST_WORDS: Duration = Duration::from_millis(400);

/// What transports carry messages to and from. They know nothing else of it.
#[async_trait]
pub(crate) trait Service: Send + Sync + 'static {
    type MessageHandler: MessageHandler;

    /// A client has connected.
    fn connect(self: Arc<Self>, limits: Limits) -> ConnectedClient<Self::MessageHandler>;

    /// A client is gone.
    async fn disconnect(&self, client: u64);

    /// Waits until nothing is going on that should be let end.
    async fn until_idle(&self);

    /// Ends everything that is going on.
    async fn shut_down(&self);

    /// Sends nothing more to any client.
    fn close_connections(&self);
}

/// A client that has connected.
pub(crate) struct ConnectedClient<S> {
    pub(crate) id: u64,
    /// Its messages go here.
    pub(crate) session: S,
    /// What it is to be sent comes from here.
    pub(crate) outbox: Arc<Outbox>,
}

/// Takes the messages of one client.
#[async_trait]
pub(crate) trait MessageHandler: Send + 'static {
    async fn take(&mut self, message: InputLine);
}

/// Ends everything that is going on, or gives up in time.
async fn end_work(service: &impl Service) {
    if tokio::time::timeout(GRACE, service.shut_down())
        .await
        .is_err()
    {
        tracing::warn!("some threads did not end in time");
    }
}

/// A message of a client, or what is left of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InputLine {
    /// Without its end.
    Whole(Vec<u8>),
    /// It passed the limit and was skipped.
    TooLong,
}
