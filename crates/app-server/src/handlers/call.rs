//! The interface of handlers.
//!
//! Most handlers are `async fn(RequestContext, Params) -> Result<Response, Failure>`. A handler that continues after
//! its reply, or that encodes the reply itself, returns `Result<EarlyReply<Method>, Failure>`, and its row is marked
//! `early`. The handler of an `unsupported` method returns a `Failure`.

use std::sync::Arc;

use codex_app_server_protocol::RequestMethod;
use futures::future::BoxFuture;

use crate::connection::{Connection, Responder};
use crate::server::AppServer;

/// The server and the connection of a request.
#[derive(Clone, Debug)]
pub(crate) struct RequestContext {
    pub(crate) server: Arc<AppServer>,
    pub(crate) connection: Arc<Connection>,
}

/// A reply that is sent before the handler's work is complete.
pub(crate) struct EarlyReply<M>(Box<dyn FnOnce(Responder<M>) -> BoxFuture<'static, ()> + Send>);

impl<M: RequestMethod + 'static> EarlyReply<M> {
    /// `send` replies through the responder, or passes it on.
    pub(super) fn by<F>(send: impl FnOnce(Responder<M>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self(Box::new(|reply| Box::pin(send(reply))))
    }

    /// Replies, then calls `next`.
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

/// When a request is carried out, relative to other requests of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Before the next message is read, up to the handler's first wait.
    AtOnce,
    /// Concurrently with all others.
    Concurrent,
    /// After the earlier requests of the same queue.
    Queued(RequestQueue),
}

/// A queue of requests about the same object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RequestQueue {
    /// A thread id.
    Thread(String),
    /// The realtime conversation of a thread, by the thread id.
    Realtime(String),
    /// The input of a `command/exec` process, by its process id.
    Process(String),
    /// The input of a `process/spawn` process, by its handle.
    ProcessHandle(String),
    /// A file search session, by its id.
    Search(String),
    /// A file watch, by its id.
    Watch(String),
}
