//! Errors of MCP servers.

use std::time::Duration;

use codex_exec::SpawnError;
use serde_json::Value;

/// Why a server cannot be used, or a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The server's name cannot be part of tool names.
    #[error("Invalid MCP server name '{0}': must match pattern ^[a-zA-Z0-9_-]+$")]
    Name(String),
    /// An environment variable of the configuration cannot be used.
    #[error("Environment variable {variable} for MCP server '{server}' {problem}")]
    Variable {
        variable: String,
        server: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The server's program cannot be started.
    #[error("{0}")]
    Launch(String),
    /// The server or the connection has ended.
    #[error("Transport closed")]
    Closed,
    /// The server sent a message over the size limit.
    #[error("a message of the server is larger than {0} bytes")]
    TooLarge(usize),
    #[error("timed out awaiting {method} after {limit:?}")]
    Timeout {
        method: &'static str,
        limit: Duration,
    },
    /// The server replied with an error.
    #[error("Mcp error: {code}: {message}")]
    Remote {
        code: i64,
        message: String,
        /// What the server says besides.
        data: Option<Value>,
    },
    /// The reply does not have the expected form.
    #[error("unexpected answer to {method}: {problem}")]
    Unreadable {
        method: &'static str,
        /// What is wrong with the reply.
        problem: String,
    },
    /// The server requires a login.
    #[error("Auth required")]
    AuthRequired,
    /// The login does not have the scopes that the server demands of it.
    #[error("the login to the server lacks scopes; log in to it again")]
    ScopesMissing,
    /// The server no longer knows the session.
    #[error("the session of the server has expired")]
    SessionExpired,
    /// The server refused an HTTP request.
    #[error("{text}")]
    Status {
        status: u16,
        /// The status and the beginning of the reply.
        text: String,
    },
    /// An HTTP request failed.
    #[error("{0}")]
    Http(String),
}

impl From<SpawnError> for McpError {
    fn from(error: SpawnError) -> Self {
        Self::Launch(error.to_string())
    }
}
