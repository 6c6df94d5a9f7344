//! Typed requests to a session from the parts below it.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

/// Sends requests of one kind to a session. Knows nothing of the other kinds in the same queue.
pub(crate) struct Requests<R>(Arc<dyn Fn(R) -> BoxFuture<'static, Option<()>> + Send + Sync>);

impl<R: Send + 'static> Requests<R> {
    pub(crate) fn new<M: From<R> + Send + 'static>(queue: mpsc::Sender<Box<M>>) -> Self {
        Self(Arc::new(move |request| {
            let queue = queue.clone();
            Box::pin(async move { queue.send(Box::new(request.into())).await.ok() })
        }))
    }

    /// Sends a request and waits for its reply. None if the session does not reply any more.
    pub(crate) async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> R) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        (self.0)(request(reply)).await?;
        answer.await.ok()
    }
}

impl<R> Clone for Requests<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> fmt::Debug for Requests<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Requests")
    }
}
