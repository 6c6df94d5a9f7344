//! What goes wrong with a server.

use std::time::Duration;

use codex_exec::SpawnError;

/// Why a server cannot be used, or did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// Its name cannot be part of the names of tools.
    #[error("Invalid MCP server name '{0}': must match pattern ^[a-zA-Z0-9_-]+$")]
    Name(String),
    /// A variable that it needs cannot be used.
    #[error("Environment variable {variable} for MCP server '{server}' {problem}")]
    Variable {
        /// The variable.
        variable: String,
        /// The server.
        server: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Its program does not run.
    #[error("{0}")]
    Launch(String),
    /// It is gone, or the connection to it is.
    #[error("Transport closed")]
    Closed,
    /// It sent more at once than anybody would read.
    #[error("a message of the server is larger than {0} bytes")]
    TooLarge(usize),
    /// It took too long.
    #[error("timed out awaiting {method} after {limit:?}")]
    Timeout {
        /// What was asked.
        method: &'static str,
        /// How long it had.
        limit: Duration,
    },
    /// It answered with an error.
    #[error("Mcp error: {code}: {message}")]
    Remote {
        /// The error's number.
        code: i64,
        /// What it says.
        message: String,
    },
    /// Its answer is not of the form that was agreed on.
    #[error("unexpected answer to {method}: {problem}")]
    Unreadable {
        /// What was asked.
        method: &'static str,
        /// What is wrong with the answer.
        problem: String,
    },
    /// It wants somebody to log in first.
    #[error("Auth required")]
    AuthRequired,
    /// It has forgotten who we are.
    #[error("the session of the server has expired")]
    SessionExpired,
    /// A request over HTTP went wrong.
    #[error("{0}")]
    Http(String),
}

impl From<SpawnError> for McpError {
    fn from(error: SpawnError) -> Self {
        Self::Launch(error.to_string())
    }
}
