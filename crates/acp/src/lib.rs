//! Layer: surface. The Agent Client Protocol, version 1, for editors: an agent over a pair of streams that is a
//! client of the app-server over another one. [`AcpService`] has many of them, for the clients of a listener.
//!
//! It promises one reply per request, all updates of a turn before the reply to its prompt, and that it uses no
//! feature that the client did not declare. It runs and stores nothing itself: sessions are threads of the engine.
//!
//! Code map. `dispatch` is the table of methods; `open`, `listing`, `prompt`, `settings`, `login` serve them. `engine`
//! handles the notifications of the engine, `questions` its requests. Pure functions between the two vocabularies: `updates`, `tool_calls`,
//! `permission`, `forms`, `options`, `prompt_blocks`, `mcp_servers`. `run` is the table of the lifecycle of a prompt,
//! `update_gate` holds the updates of a session that its client does not know yet.

mod agent;
mod ask;
mod buffers;
mod call_content;
mod children;
mod client_features;
mod client_schema;
mod command_calls;
mod command_texts;
mod commands;
mod connected_clients;
mod diffs;
mod dispatch;
mod engine;
mod errors;
mod forms;
mod initialize;
mod input;
mod listing;
mod login;
mod mcp_servers;
mod message_ids;
mod messages;
mod models;
mod modes;
mod open;
mod options;
mod permission;
mod program;
mod prompt;
mod prompt_blocks;
mod prompt_input;
mod questions;
mod replay;
mod rewind;
mod run;
mod saved_prompts;
mod service;
mod session;
mod settings;
mod steering;
mod terminals;
mod titles;
mod tool_calls;
mod undo;
mod update_gate;
mod updates;

use codex_client::{AdapterError, Client, serve_adapter};
use tokio::io::{AsyncRead, AsyncWrite};

pub use client_schema::CLIENT_SCHEMA;
pub use program::Program;
pub use service::AcpService;

use crate::agent::Agent;
use crate::connected_clients::ClientSeat;

/// Serves an editor until it closes the input, or until `stop` completes. Shuts the engine down at the end.
///
/// # Errors
/// The input cannot be read, or the engine does not start or ends.
pub async fn serve(
    engine: Client,
    program: Program,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), AdapterError> {
    serve_client(engine, program, ClientSeat::default(), input, output, stop).await
}

/// Serves one of the clients of an engine.
async fn serve_client(
    mut engine: Client,
    program: Program,
    seat: ClientSeat,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), AdapterError> {
    let initialized = engine.initialize("codex_acp", program.version).await?;
    let home = initialized["codexHome"].as_str().map(str::to_owned);
    let agent = |caller, peer| Agent::new(caller, peer, program, home, seat);
    serve_adapter(engine, "$/cancel_request", agent, input, output, stop).await
}
