//! Layer: surface. The engine as an MCP server: the tools `codex` and `codex-reply`, for programs that have agents of
//! their own. It is a client of the app-server over a pair of streams.
//!
//! It promises one reply per request, and that a call ends when its turn does. Approvals go to the client as
//! elicitations; without those they are refused, as is everything else that somebody would have to answer.
//!
//! Code map. `tools` is what the tools take and give, `server` the table of methods, `call` the life of one call,
//! `approval` and `events` pure functions between the two vocabularies.

mod approval;
mod call;
mod events;
mod server;
mod tools;

use std::time::Duration;

use codex_client::{Client, ClientError};
use codex_json_rpc::{InputError, Peer, read_lines};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::server::Server;

/// How long the last words may take to be read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Why the server ended before its client did.
#[derive(Debug, Error)]
pub enum McpServerError {
    /// The input cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The engine did not start.
    #[error(transparent)]
    Engine(#[from] ClientError),
}

/// Serves a client until it closes the input, or until `stop`. The engine behind `client` ends with it.
///
/// # Errors
/// The input cannot be read, or the engine does not start.
pub async fn serve(
    mut client: Client,
    version: &'static str,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), McpServerError> {
    client.initialize("codex_mcp_server", version).await?;
    let (caller, events) = client.split();
    let (peer, lines) = Peer::new("notifications/cancelled");
    let writer = tokio::spawn(lines.write_to(output));
    let server = Server::new(caller.clone(), peer.clone(), version);
    let follower = {
        let server = server.clone();
        tokio::spawn(async move { call::follow(&server, events).await })
    };
    let read = tokio::select! {
        read = read_lines(input, |message| server::take(&server, message)) => read,
        () = stop => Ok(()),
    };
    peer.give_up();
    caller.finish().await;
    let _ = follower.await;
    drop((server, peer, caller));
    let _ = tokio::time::timeout(LAST_WORDS, writer).await;
    Ok(read?)
}
