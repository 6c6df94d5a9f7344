//! Servers that were started together.

use std::collections::BTreeMap;
use std::sync::Arc;

use codex_apps::{ToolApp, connector_of};
use codex_mcp_client::{McpError, McpServerConfig, RunningMcpServer};
use codex_protocol::Tool;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::names::{self, OfferedTool};
use super::sandbox_state::{SandboxState, SentSandboxState};
use crate::config::McpServer;
use crate::turn_settings::TurnSettings;

/// The progress of the start of a server.
#[derive(Clone, Debug)]
pub(super) enum ServerProgress {
    Starting,
    Ready(RunningMcpServer),
    Failed(McpError),
    Cancelled,
}

/// A server and its start.
#[derive(Debug)]
pub(super) struct ServerSlot {
    pub(super) configured: McpServer,
    pub(super) progress: watch::Receiver<ServerProgress>,
    pub(super) sent_state: SentSandboxState,
    /// Its tools, if they were listed again.
    pub(super) listed_again: Mutex<Option<Vec<Tool>>>,
}

impl ServerSlot {
    /// The tools of the server, once it has started. Those of apps are known from the last time.
    async fn tools(&self) -> Vec<Tool> {
        let is_starting = matches!(&*self.progress.borrow(), ServerProgress::Starting);
        if let (true, Some(apps)) = (is_starting, &self.configured.apps) {
            let cache = apps.cache.clone();
            let read = tokio::task::spawn_blocking(move || cache.load()).await;
            if let Ok(Some(tools)) = read {
                return tools;
            }
        }
        match self.settled().await {
            ServerProgress::Ready(running) => {
                let again = self.listed_again.lock().clone();
                again.unwrap_or(running.tools)
            }
            _ => Vec::new(),
        }
    }

    /// Lists the tools again, for later turns.
    async fn list_again(&self) -> Vec<Tool> {
        let ServerProgress::Ready(running) = self.settled().await else {
            return Vec::new();
        };
        let limit = self.configured.server.request_timeout;
        match running.connection.tools(limit).await {
            Ok((tools, _)) => {
                *self.listed_again.lock() = Some(tools.clone());
                tools
            }
            Err(error) => {
                tracing::warn!(%error, "the tools of apps are not listed again");
                running.tools
            }
        }
    }

    /// What the server says about its tools, if it is ready.
    async fn instructions(&self) -> Option<Arc<str>> {
        let running = match &*self.progress.borrow() {
            ServerProgress::Ready(running) => running.clone(),
            _ => return None,
        };
        let said = running.connection.facts().await.instructions;
        said.filter(|text| !text.is_empty())
    }

    async fn settled(&self) -> ServerProgress {
        let mut progress = self.progress.clone();
        let settled = progress.wait_for(|progress| !matches!(progress, ServerProgress::Starting));
        match settled.await {
            Ok(progress) => progress.clone(),
            // The task that started it is gone, and the server with it.
            Err(_) => ServerProgress::Cancelled,
        }
    }
}

/// An MCP server that cannot be used. The text says why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct McpServerUnavailable(pub String);

/// Servers that were started together.
#[derive(Debug, Default)]
pub struct McpServerSet {
    pub(super) slots: BTreeMap<String, ServerSlot>,
    /// Cancels every pending start.
    pub(super) cancelled: CancellationToken,
}

impl Drop for McpServerSet {
    fn drop(&mut self) {
        self.cancelled.cancel();
    }
}

impl McpServerSet {
    /// Waits until each server has started or failed. Returns the available tools.
    pub async fn offered(&self, turn: &TurnSettings) -> Vec<OfferedTool> {
        let mut found = Vec::new();
        let used = |slot: &&ServerSlot| !turn.disables(slot.configured.plugin_id.as_deref());
        for slot in self.slots.values().filter(used) {
            found.push((&slot.configured, slot.tools().await));
        }
        let mut offered = names::offered(&found);
        for (name, slot) in &self.slots {
            let instructions = slot.instructions().await;
            let own = offered.iter_mut().filter(|tool| tool.server == *name);
            own.for_each(|tool| tool.instructions.clone_from(&instructions));
        }
        offered
    }

    /// Whether one of the servers is that of apps.
    pub fn serves_apps(&self) -> bool {
        self.slots
            .values()
            .any(|slot| slot.configured.apps.is_some())
    }

    /// The apps that offer tools, by id.
    pub async fn apps(&self) -> Vec<Arc<ToolApp>> {
        let mut slots = self.slots.values();
        let Some(slot) = slots.find(|slot| slot.configured.apps.is_some()) else {
            return Vec::new();
        };
        let offered = names::offered(&[(&slot.configured, slot.tools().await)]);
        let mut apps: Vec<_> = offered.into_iter().filter_map(|tool| tool.app).collect();
        apps.sort_by(|one, other| one.id.cmp(&other.id));
        apps.dedup_by(|one, other| one.id == other.id);
        apps
    }

    /// Lists the tools of apps again. Whether those of this app are among them.
    pub async fn has_app_now(&self, id: &str) -> bool {
        let mut slots = self.slots.values();
        let Some(slot) = slots.find(|slot| slot.configured.apps.is_some()) else {
            return false;
        };
        let tools = slot.list_again().await;
        tools
            .iter()
            .filter_map(connector_of)
            .any(|(app, _)| app == id)
    }

    /// Sends the confinement of commands to the servers that want it.
    pub async fn send_sandbox_state(&self, state: &SandboxState) {
        for (name, slot) in &self.slots {
            if let ServerProgress::Ready(running) = slot.settled().await {
                slot.sent_state.send(name, &running.connection, state).await;
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// A server, when it has started.
    ///
    /// # Errors
    /// There is no such server, or it did not start.
    pub async fn running(
        &self,
        name: &str,
    ) -> Result<(&McpServerConfig, RunningMcpServer), McpServerUnavailable> {
        let slot = self.slots.get(name);
        let unavailable = McpServerUnavailable;
        let slot = slot.ok_or_else(|| unavailable(format!("unknown MCP server '{name}'")))?;
        let server = &slot.configured.server;
        match slot.settled().await {
            ServerProgress::Ready(running) => Ok((server, running)),
            ServerProgress::Failed(error) => Err(unavailable(error.to_string())),
            ServerProgress::Starting | ServerProgress::Cancelled => {
                Err(unavailable(format!("MCP server '{name}' was not started")))
            }
        }
    }

    /// The configurations of all servers.
    pub fn configured(&self) -> impl Iterator<Item = &McpServerConfig> {
        self.slots.values().map(|slot| &slot.configured.server)
    }

    /// All servers that have started.
    pub async fn all_running(&self) -> Vec<(&McpServerConfig, RunningMcpServer)> {
        let mut all = Vec::new();
        for slot in self.slots.values() {
            if let ServerProgress::Ready(running) = slot.settled().await {
                all.push((&slot.configured.server, running));
            }
        }
        all
    }

    /// Waits for the required servers.
    pub(super) async fn required(&self) -> Result<(), RequiredServersFailed> {
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
        if failed.is_empty() {
            Ok(())
        } else {
            Err(RequiredServersFailed(failed))
        }
    }
}

/// Required servers that did not start. Each entry says which and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("required MCP servers failed to initialize: {}", .0.join("; "))]
pub struct RequiredServersFailed(pub Vec<String>);
