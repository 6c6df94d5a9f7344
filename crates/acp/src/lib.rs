//! Layer: surface. The Agent Client Protocol, version 1, for editors: an agent over a pair of streams that is a
//! client of the app-server over another one.
//!
//! It promises one reply per request, all updates of a turn before the reply to its prompt, and that nothing is asked
//! of an editor that did not offer it. It runs nothing itself and keeps nothing: sessions are threads of the engine.
//!
//! Code map. `dispatch` is the table of methods; `open`, `listing`, `prompt`, `settings`, `login` serve them. `engine`
//! and `questions` take what the engine says. Pure functions between the two vocabularies: `updates`, `tool_calls`,
//! `permission`, `forms`, `options`, `prompt_blocks`, `mcp_servers`. `run` is the table of the lifecycle of a prompt.

mod agent;
mod buffers;
mod command_texts;
mod commands;
mod diffs;
mod dispatch;
mod engine;
mod errors;
mod forms;
mod initialize;
mod listing;
mod login;
mod mcp_servers;
mod offers;
mod open;
mod options;
mod permission;
mod prompt;
mod prompt_blocks;
mod questions;
mod run;
mod saved_prompts;
mod session;
mod settings;
mod tool_calls;
mod updates;

use std::time::Duration;

use codex_client::{Client, ClientError};
use codex_json_rpc::{InputError, Peer, read_lines};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::agent::Agent;

/// How long the last words may take to be read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The program that the agent is a part of.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The key of the environment, to log in with.
    pub api_key: Option<String>,
    /// Opens a page in the browser of this machine; nothing where there is none to be opened.
    pub open_page: Option<fn(&str)>,
}

/// Why the agent ended before its client did.
#[derive(Debug, Error)]
pub enum AcpError {
    /// The input cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The engine did not start.
    #[error(transparent)]
    Engine(#[from] ClientError),
}

/// Serves an editor until it closes the input, or until `stop`. The engine behind `client` ends with it.
///
/// # Errors
/// The input cannot be read, or the engine does not start.
pub async fn serve(
    mut client: Client,
    program: Program,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), AcpError> {
    let initialized = client.initialize("codex_acp", program.version).await?;
    let home = initialized["codexHome"].as_str().map(str::to_owned);
    let (caller, events) = client.split();
    let (peer, lines) = Peer::new("$/cancel_request");
    let writer = tokio::spawn(lines.write_to(output));
    let agent = Agent::new(caller.clone(), peer.clone(), program, home);
    let follower = {
        let agent = agent.clone();
        tokio::spawn(async move { engine::follow(&agent, events).await })
    };
    let read = tokio::select! {
        read = read_lines(input, |message| dispatch::take(&agent, message)) => read,
        () = stop => Ok(()),
    };
    // Nobody answers any more. The engine ends its turns, which is the last that is said.
    peer.give_up();
    caller.finish().await;
    let _ = follower.await;
    drop((agent, peer, caller));
    let _ = tokio::time::timeout(LAST_WORDS, writer).await;
    Ok(read?)
}
