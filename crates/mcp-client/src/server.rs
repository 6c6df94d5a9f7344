//! What is configured of a server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use codex_protocol::Tool;

/// A server, and which of its tools count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name, unique among the servers.
    pub name: String,
    /// The way there.
    pub way: Way,
    /// How long the handshake may take, and again the first list of tools.
    pub startup_timeout: Duration,
    /// How long any later request may take.
    pub request_timeout: Duration,
    /// The only tools that count, by the server's names for them; all if absent.
    pub enabled_tools: Option<Vec<String>>,
    /// Tools that do not count.
    pub disabled_tools: Vec<String>,
}

/// The way to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// A program of its own, spoken to over its standard input and output.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Variables set for it.
        variables: BTreeMap<String, String>,
        /// Variables passed on to it, beside the usual ones.
        passed_on: Vec<String>,
        /// Where it runs, if not where this process does.
        cwd: Option<PathBuf>,
    },
    /// HTTP, with streams of events for answers.
    Http {
        /// Its address.
        url: String,
        /// The variable with a token for it.
        bearer_token_variable: Option<String>,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
        /// Headers whose values are in variables.
        headers_of_variables: BTreeMap<String, String>,
        /// What a login asks for; whatever is offered unless given.
        scopes: Option<Vec<String>>,
        /// The resource that a login is for.
        resource: Option<String>,
    },
}

impl Server {
    /// Whether a tool counts.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        let is_in = |list: &[String]| list.iter().any(|name| name == tool);
        let enabled = self.enabled_tools.as_deref().is_none_or(is_in);
        enabled && !is_in(&self.disabled_tools)
    }

    /// The tools that count.
    pub(crate) fn counting(&self, mut tools: Vec<Tool>) -> Vec<Tool> {
        tools.retain(|tool| self.allows(&tool.name));
        tools
    }

    /// Whether the name can be part of the names of its tools.
    pub(crate) fn has_usable_name(&self) -> bool {
        let is_usable = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        !self.name.is_empty() && self.name.bytes().all(is_usable)
    }
}
