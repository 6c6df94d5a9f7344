//! Layer: surface. Sessions of the queue protocol: submissions come in and events go out, one per line.
//!
//! A session with the configured settings runs from the start. `configure_session`, the older form, replaces it; with
//! another provider or a stored thread the new session is another one, and only its events are printed from then on. A
//! line that cannot be parsed is answered with an error event.
//!
//! Tasks follow the protocol to the letter: more input of the user aborts the running task and starts another one, each
//! response of the model ends with `turn_complete` and the task with `task_complete`.

mod agents;
mod events;
mod lines;
mod listener;
mod memories;
mod session;

use std::future::pending;
use std::sync::Arc;

use codex_engine_host::host::EngineHost;
use tokio::io::{AsyncRead, AsyncWrite};

use session::{FirstLine, QueueSession, load_account_limits};

pub use listener::serve_listener;

/// A longer line of the program that started this one is an error.
const LINE_LIMIT: usize = 64 * 1024 * 1024;

/// Serves one session over a pair of streams, until the input or the session ends.
///
/// # Errors
/// The session cannot be started, or its events cannot be written.
pub async fn serve_streams(
    host: Arc<EngineHost>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> anyhow::Result<()> {
    load_account_limits(&host).await?;
    let session = QueueSession::start(host, output)?;
    session
        .serve(input, LINE_LIMIT, FirstLine::Any, pending())
        .await
}
