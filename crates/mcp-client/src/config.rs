//! The configuration of an MCP server.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_http::SharedLogin;
use codex_protocol::{Secret, Tool};

/// The configuration of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServerConfig {
    /// Unique among the servers.
    pub name: String,
    pub transport: McpServerTransport,
    /// The time limit of the handshake, and also of the first list of tools.
    pub startup_timeout: Duration,
    /// The time limit of other requests.
    pub request_timeout: Duration,
    /// The only tools that are offered, by the server's names; all tools if absent.
    pub enabled_tools: Option<Vec<String>>,
    /// Tools that are not offered.
    pub disabled_tools: Vec<String>,
    /// Looks at a program before each start.
    pub guard: ProgramGuard,
}

/// A program that is about to be started outside of any sandbox.
#[derive(Debug)]
pub struct ProgramStart<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// All of its variables.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// The working folder.
    pub cwd: &'a Path,
}

/// Why a program is not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProgramRefused(pub String);

/// Variables that a program gets in place of its own.
pub type ProgramVariables = Vec<(OsString, OsString)>;

/// What looks at programs. It may read files.
type ProgramCheck =
    dyn Fn(&ProgramStart<'_>) -> Result<ProgramVariables, ProgramRefused> + Send + Sync;

/// Looks at a program before each start, and refuses it for a reason.
#[derive(Clone, Default)]
pub struct ProgramGuard(Option<Arc<ProgramCheck>>);

impl ProgramGuard {
    pub fn new(
        check: impl Fn(&ProgramStart<'_>) -> Result<ProgramVariables, ProgramRefused>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Some(Arc::new(check)))
    }

    pub(crate) fn check(
        &self,
        start: &ProgramStart<'_>,
    ) -> Result<ProgramVariables, ProgramRefused> {
        match &self.0 {
            Some(check) => check(start),
            None => Ok(Vec::new()),
        }
    }
}

impl fmt::Debug for ProgramGuard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ProgramGuard")
    }
}

/// A guard is no part of what makes two servers different.
impl PartialEq for ProgramGuard {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ProgramGuard {}

/// A program of another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramElsewhere {
    /// The name of the environment.
    pub environment: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its environment variables.
    pub variables: BTreeMap<String, String>,
    /// Names of variables of this process that it gets.
    pub inherited_variables: Vec<String>,
    /// The absolute working folder there.
    pub cwd: String,
}

/// How to reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpServerTransport {
    /// A program of another machine, with the protocol on its standard input and output.
    Elsewhere(ProgramElsewhere),
    /// A program that is spoken to over its standard input and output.
    Program {
        command: String,
        arguments: Vec<String>,
        /// Environment variables with their values.
        variables: BTreeMap<String, String>,
        /// Environment variables to inherit, in addition to the usual ones.
        inherited_variables: Vec<String>,
        /// The working folder; by default that of this process.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        url: String,
        /// Where the server is if there is nothing at `url`.
        other_url: Option<String>,
        /// The environment variable with the bearer token.
        bearer_token_variable: Option<String>,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
        /// Headers whose values are in environment variables.
        headers_from_variables: BTreeMap<String, String>,
        /// The scopes of a login; by default those that the authorization server offers.
        scopes: Option<Vec<String>>,
        /// The resource indicator of a login.
        resource: Option<String>,
        /// How this program is registered at the authorization server; it registers itself if absent.
        client: Option<McpRegisteredClient>,
        /// The login whose headers are added, in place of a login to the server itself.
        login: Option<SharedLogin>,
    },
}

/// A client that was registered by hand at an authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpRegisteredClient {
    /// Its id; this program registers itself if there is none.
    pub id: Option<String>,
    /// Its secret, if it has one.
    pub secret: Option<Secret>,
    /// The address that browsers come back to.
    pub callback_url: Option<String>,
}

impl McpServerConfig {
    /// The origin of a server that is reached over HTTP.
    #[must_use]
    pub fn http_origin(&self) -> Option<String> {
        let McpServerTransport::Http { url, .. } = &self.transport else {
            return None;
        };
        let url = reqwest::Url::parse(url).ok()?;
        Some(url.origin().ascii_serialization())
    }

    /// Whether a tool is offered.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        let is_in = |list: &[String]| list.iter().any(|name| name == tool);
        let enabled = self.enabled_tools.as_deref().is_none_or(is_in);
        enabled && !is_in(&self.disabled_tools)
    }

    /// Removes the tools that are not offered.
    pub(crate) fn offered(&self, mut tools: Vec<Tool>) -> Vec<Tool> {
        tools.retain(|tool| self.allows(&tool.name));
        tools
    }

    /// Whether the server's name can be part of tool names.
    pub(crate) fn has_usable_name(&self) -> bool {
        let is_usable = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        !self.name.is_empty() && self.name.bytes().all(is_usable)
    }
}
