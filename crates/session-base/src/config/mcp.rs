//! The configuration of MCP servers.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use codex_apps::{AppRules, ToolCacheFile};
use codex_gate::ToolApproval;
use codex_mcp_client::McpServerConfig;

/// An MCP server of a thread.
#[derive(Clone, Debug)]
pub struct McpServer {
    /// The server.
    pub server: McpServerConfig,
    /// Whether there is no thread without it.
    pub required: bool,
    /// How calls of its tools are approved, by the server's names of the tools.
    pub approval: BTreeMap<String, ToolApproval>,
    /// How calls of its other tools are approved.
    pub default_approval: ToolApproval,
    /// The names, for the model, of the plugins that it comes from.
    pub plugins: Vec<String>,
    /// The id of the plugin that configures it.
    pub plugin_id: Option<String>,
    /// Set for the server whose tools are those of apps.
    pub apps: Option<Arc<AppsServer>>,
}

/// What is different for the server of apps.
#[derive(Debug)]
pub struct AppsServer {
    /// Which tools are offered, and which calls need an approval.
    pub rules: AppRules,
    /// The tools from the last time, which are offered while the server starts.
    pub cache: ToolCacheFile,
}

/// Stores approvals of MCP tools for later threads.
pub trait McpApprovals: Debug + Send + Sync {
    /// Approves all later calls of a tool. Writes a file.
    ///
    /// # Errors
    /// The approval was not written.
    fn approve(&self, server: &str, tool: &str) -> Result<(), ApprovalNotStored>;

    /// Approves all later calls of a tool of an app. Writes a file.
    ///
    /// # Errors
    /// The approval was not written.
    fn approve_app(&self, app: &str, tool: &str) -> Result<(), ApprovalNotStored>;
}

/// An approval that was not written, and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ApprovalNotStored(pub String);
