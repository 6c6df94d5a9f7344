//! The interface of handlers.
//!
//! Most handlers are `async fn(RequestContext, Params) -> Result<Response, Failure>`. A handler that continues after
//! its reply, or that encodes the reply itself, returns `Result<EarlyReply<Method>, Failure>`, and its row is marked
//! `early`. The handler of an `unsupported` method returns a `Failure`.

use std::sync::Arc;

use codex_app_server_protocol::RequestMethod;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::connection::{Connection, Responder};
use crate::failure::Failure;
use crate::ordering::Access;
use crate::server::AppServer;
use crate::thread::{Actor, ActorCall, ThreadHandle};

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
    pub(super) fn sent_by<F>(send: impl FnOnce(Responder<M>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self(Box::new(|reply| Box::pin(send(reply))))
    }

    /// The same, where later requests about the same must find what the reply tells.
    pub(super) fn in_order<F>(send: impl FnOnce(Responder<M>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::sent_by(|mut reply| async move {
            let sent = reply.sent_token();
            send(reply).await;
            sent.cancelled().await;
        })
    }

    /// Asks a loaded thread, and replies before anything else happens to it.
    pub(super) fn of_thread(
        thread: ThreadHandle,
        call: impl ActorCall<Result<M::Response, Failure>>,
    ) -> Self {
        Self::by_thread(thread, |thread, reply| {
            async { reply.reply(call(thread).await) }.boxed()
        })
    }

    /// Passes the responder on to a loaded thread.
    pub(super) fn by_thread(
        thread: ThreadHandle,
        call: impl FnOnce(&mut Actor, Responder<M>) -> BoxFuture<'_, ()> + Send + 'static,
    ) -> Self {
        Self::sent_by(|reply| async move { thread.send(|thread| call(thread, reply)).await })
    }

    /// The same, where later requests about the same must find what the reply tells.
    pub(super) fn by_thread_in_order(
        thread: ThreadHandle,
        call: impl FnOnce(&mut Actor, Responder<M>) -> BoxFuture<'_, ()> + Send + 'static,
    ) -> Self {
        Self::in_order(|reply| async move { thread.send(|thread| call(thread, reply)).await })
    }

    /// Replies, then calls `next`.
    pub(super) fn then(response: M::Response, next: impl FnOnce() + Send + 'static) -> Self
    where
        M::Response: Send,
    {
        Self::sent_by(|reply| async move {
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
    /// Before the next message is read, up to the handler's first wait. Earlier writers of what it uses come first.
    AtOnce(Vec<Access>),
    /// Concurrently with all others, but after earlier ones that use the same.
    After(Vec<Access>),
}
