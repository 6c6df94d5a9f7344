//! The MCP servers of a thread: started in the background, called through their tools, ended with it.
//!
//! A server that fails is no failure of the thread: its tools are not offered. One that dies later is
//! not started again until the configuration is read anew.

mod names;
mod output;
mod sandbox_state;
mod schema;
mod startup;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use codex_mcp_client::{Connector, McpError, Running, Server};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::session::Services;

pub(crate) use names::OfferedTool;
pub(crate) use output::{error_output, for_text_models, output_of};
pub(crate) use sandbox_state::SandboxState;
use sandbox_state::SentSandboxState;

/// An MCP server of a thread.
#[derive(Clone, Debug)]
pub struct McpServer {
    /// The server.
    pub server: Server,
    /// Whether there is no thread without it.
    pub required: bool,
    /// How calls of its tools are approved, by its own names for them; as their annotations say
    /// unless told.
    pub approval: BTreeMap<String, ToolApproval>,
}

/// How calls of a tool are approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolApproval {
    /// As its annotations say.
    #[default]
    Auto,
    /// Each by a person.
    Prompt,
    /// Without asking.
    Approve,
}

/// Where people's leave to call a tool is kept for all threads to come.
pub trait McpApprovals: Debug + Send + Sync {
    /// From now on calls of this tool need no leave. Writes a file.
    ///
    /// # Errors
    /// It was not written; a sentence that says why.
    fn approve(&self, server: &str, tool: &str) -> Result<(), String>;
}

/// How far a server has come.
#[derive(Clone, Debug)]
pub(crate) enum ServerProgress {
    Starting,
    Ready(Running),
    Failed(McpError),
    Cancelled,
}

/// A server with how far it has come.
#[derive(Debug)]
struct ServerSlot {
    configured: McpServer,
    progress: watch::Receiver<ServerProgress>,
    sent_state: SentSandboxState,
}

impl ServerSlot {
    async fn settled(&self) -> ServerProgress {
        let mut progress = self.progress.clone();
        let settled = progress.wait_for(|progress| !matches!(progress, ServerProgress::Starting));
        match settled.await {
            Ok(progress) => progress.clone(),
            // Whoever started it is gone, and with it the server.
            Err(_) => ServerProgress::Cancelled,
        }
    }
}

/// Servers that were started together.
#[derive(Debug, Default)]
pub(crate) struct McpServerSet {
    slots: BTreeMap<String, ServerSlot>,
    /// Ends every start that is under way.
    cancelled: CancellationToken,
}

impl Drop for McpServerSet {
    fn drop(&mut self) {
        self.cancelled.cancel();
    }
}

impl McpServerSet {
    /// Waits until each has started or failed to; answers the tools that are there then.
    pub(crate) async fn offered(&self) -> Vec<OfferedTool> {
        let mut found = Vec::new();
        for slot in self.slots.values() {
            if let ServerProgress::Ready(running) = slot.settled().await {
                found.push((&slot.configured, running));
            }
        }
        names::offered(&found)
    }

    /// Tells those that want to know how commands are confined.
    pub(crate) async fn send_sandbox_state(&self, state: &SandboxState) {
        for (name, slot) in &self.slots {
            if let ServerProgress::Ready(running) = slot.settled().await {
                slot.sent_state.send(name, &running.connection, state).await;
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// A server, once it has started.
    pub(crate) async fn running(&self, name: &str) -> Result<(&Server, Running), String> {
        let slot = self.slots.get(name);
        let slot = slot.ok_or_else(|| format!("unknown MCP server '{name}'"))?;
        let server = &slot.configured.server;
        match slot.settled().await {
            ServerProgress::Ready(running) => Ok((server, running)),
            ServerProgress::Failed(error) => Err(error.to_string()),
            ServerProgress::Starting | ServerProgress::Cancelled => {
                Err(format!("MCP server '{name}' was not started"))
            }
        }
    }

    /// All servers that have started.
    pub(crate) async fn all_running(&self) -> Vec<(&Server, Running)> {
        let mut all = Vec::new();
        for slot in self.slots.values() {
            if let ServerProgress::Ready(running) = slot.settled().await {
                all.push((&slot.configured.server, running));
            }
        }
        all
    }

    /// Waits for those without which there is no thread.
    async fn required(&self) -> Result<(), String> {
        let mut failed = Vec::new();
        for (name, slot) in &self.slots {
            if !slot.configured.required {
                continue;
            }
            match slot.settled().await {
                ServerProgress::Failed(error) => failed.push(format!("{name}: {error}")),
                ServerProgress::Cancelled => failed.push(format!("{name}: cancelled")),
                ServerProgress::Starting | ServerProgress::Ready(_) => {}
            }
        }
        match failed.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "required MCP servers failed to initialize: {}",
                failed.join("; ")
            )),
        }
    }
}

/// The servers of a thread, which others may take the place of.
#[derive(Clone, Debug, Default)]
pub(crate) struct McpServers(Arc<Mutex<Arc<McpServerSet>>>);

impl McpServers {
    /// Starts these in place of those that there are.
    pub(crate) fn start(&self, services: &Services, servers: Vec<McpServer>) {
        let started = match &services.mcp_connector {
            Some(connector) => startup::start(connector, services, servers),
            None => McpServerSet::default(),
        };
        *self.0.lock() = Arc::new(started);
    }

    /// The servers now.
    pub(crate) fn current(&self) -> Arc<McpServerSet> {
        Arc::clone(&self.0.lock())
    }

    /// Waits no longer for those that have not started yet.
    pub(crate) fn cancel_starts(&self) {
        self.0.lock().cancelled.cancel();
    }

    /// Ends all of them.
    pub(crate) fn stop(&self) {
        *self.0.lock() = Arc::default();
    }

    /// Waits for those without which there is no thread.
    pub(crate) async fn required(&self) -> Result<(), String> {
        let servers = self.current();
        servers.required().await
    }
}

/// Connects to the servers of all threads.
pub(crate) type Connects = Option<Connector>;
