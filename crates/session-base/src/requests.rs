//! Typed requests to a session from the parts below it.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::oneshot;

/// Sends requests of one kind to a session. Knows nothing of the other kinds in the same queue.
pub struct Requests<R>(Arc<dyn Fn(R) -> BoxFuture<'static, Option<()>> + Send + Sync>);

impl<R: Send + 'static> Requests<R> {
    /// `send` waits for room in the queue. None if the session has ended.
    pub fn new(send: impl Fn(R) -> BoxFuture<'static, Option<()>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }

    /// Sends a request and waits for its reply. None if the session does not reply any more.
    pub async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> R) -> Option<T> {
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
