//! Layer: surface. The engine as an MCP server: the tools `codex` and `codex-reply`, for programs with agents of
//! their own. It is a client of the app-server over a pair of streams.
//!
//! It promises one reply per request, and that a call ends when its turn does. Approvals go to the client as
//! elicitations. Clients without elicitation refuse them, and every other request of the engine is declined.
//!
//! Code map. `server` is the table of methods, `call` the life of one call, `active_call` its state, `tools` the params
//! and results of the tools, `revision` the rules of the revisions, `approval`,
//! `events` and `item_events` pure functions between the two vocabularies.

mod active_call;
mod approval;
mod call;
mod events;
mod item_events;
mod revision;
mod server;
mod tools;

use codex_client::{AdapterError, Client, serve_adapter};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::server::McpAdapter;

/// Serves a client until it closes the input, or until `stop`. The engine behind `engine` ends with it.
///
/// # Errors
/// The input cannot be read, or the engine does not start or ends.
pub async fn serve(
    mut engine: Client,
    version: &'static str,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), AdapterError> {
    engine.initialize("codex_mcp_server", version).await?;
    let server = |caller, peer| McpAdapter::new(caller, peer, version);
    serve_adapter(
        engine,
        "notifications/cancelled",
        server,
        input,
        output,
        stop,
    )
    .await
}
