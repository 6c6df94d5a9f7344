//! Work that blocks: files, databases, other programs.

use crate::failure::Failure;

/// Runs blocking work in a blocking task.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let outcome = tokio::task::spawn_blocking(work).await;
    outcome.unwrap_or_else(|_| Err(Failure::internal("the server failed to read its files")))
}
