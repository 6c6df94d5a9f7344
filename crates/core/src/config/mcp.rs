//! MCP servers as a session is configured with them.

use std::collections::BTreeMap;
use std::fmt::Debug;

use codex_mcp_client::Server;

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
