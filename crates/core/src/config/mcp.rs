//! The configuration of MCP servers.

use std::collections::BTreeMap;
use std::fmt::Debug;

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
}

/// How calls of a tool are approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolApproval {
    /// By the annotations of the tool.
    #[default]
    Auto,
    /// A person approves each call.
    Prompt,
    /// Calls need no approval.
    Approve,
}

/// Stores approvals of MCP tools for later threads.
pub trait McpApprovals: Debug + Send + Sync {
    /// Approves all later calls of a tool. Writes a file.
    ///
    /// # Errors
    /// The approval was not written.
    fn approve(&self, server: &str, tool: &str) -> Result<(), ApprovalNotStored>;
}

/// An approval that was not written, and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ApprovalNotStored(pub String);
