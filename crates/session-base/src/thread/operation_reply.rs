//! Where the caller of an operation waits for its end.

use tokio::sync::oneshot;

use super::requests::ThreadClosed;

/// The end of an operation.
pub type OperationResult = Result<(), OperationError>;

/// Why an operation is not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    /// It did not begin.
    #[error("{0}")]
    Refused(String),
    /// It failed.
    #[error("{0}")]
    Failed(String),
    /// It was stopped: a client interrupted it, another task took its place, or the thread ended.
    #[error("the operation was stopped")]
    Stopped,
    /// The thread is closed.
    #[error(transparent)]
    Closed(#[from] ThreadClosed),
}

/// Replies to the caller of an operation, if there is one, exactly once: what is dropped says that the operation was stopped, or
/// that it crashed.
#[derive(Debug, Default)]
pub struct OperationReply(Option<oneshot::Sender<OperationResult>>);

impl OperationReply {
    pub fn new(caller: oneshot::Sender<OperationResult>) -> Self {
        Self(Some(caller))
    }

    pub fn send(mut self, result: OperationResult) {
        self.reply(result);
    }

    fn reply(&mut self, result: OperationResult) {
        if let Some(caller) = self.0.take() {
            // If the caller does not wait any more, nobody takes the reply.
            let _ = caller.send(result);
        }
    }
}

impl Drop for OperationReply {
    fn drop(&mut self) {
        self.reply(Err(if std::thread::panicking() {
            OperationError::Failed("the operation crashed".to_owned())
        } else {
            OperationError::Stopped
        }));
    }
}
