//! How a handler is called, and what it may answer.
//!
//! Most handlers are `async fn(Call, Params) -> Result<Response, Failure>`. A handler that has something to
//! do after its reply, or that writes the reply in another way, answers `Result<Reply<Method>, Failure>`, and
//! its row is marked `early`. The handler of an `unsupported` method answers a `Failure`.

use std::sync::Arc;

use codex_app_server_protocol::RequestMethod;
use futures::future::BoxFuture;

use crate::connection::{Connection, Responder};
use crate::server::Server;

/// Where a request came from.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) server: Arc<Server>,
    pub(crate) connection: Arc<Connection>,
}

/// How a request is replied to whose handler does not end with the reply.
pub(crate) struct Reply<M>(Box<dyn FnOnce(Responder<M>) -> BoxFuture<'static, ()> + Send>);

impl<M: RequestMethod + 'static> Reply<M> {
    /// `send` replies, by itself or by passing the responder on.
    pub(super) fn by<F>(send: impl FnOnce(Responder<M>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self(Box::new(|reply| Box::pin(send(reply))))
    }

    /// Replies, and then calls `next`.
    pub(super) fn then(response: M::Response, next: impl FnOnce() + Send + 'static) -> Self
    where
        M::Response: Send,
    {
        Self::by(|reply| async move {
            reply.accept(&response);
            next();
        })
    }

    pub(super) async fn send(self, reply: Responder<M>) {
        (self.0)(reply).await;
    }
}

/// When a request is carried out, with regard to the others of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Before the next message is read, up to where the handler waits for the first time.
    AtOnce,
    /// Independently of all others.
    Concurrent,
    /// When the requests of the same queue that came before it are done.
    Queued(Queue),
}

/// Requests that are carried out one after the other are about the same one of these.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Queue {
    /// A thread, by its id.
    Thread(String),
    /// The input of a program started by `command/exec`, by its process id.
    Process(String),
    /// The input of a program started by `process/spawn`, by its handle.
    ProcessHandle(String),
    /// A session of file searches, by its id.
    Search(String),
    /// A watch of the file system, by its id.
    Watch(String),
}
