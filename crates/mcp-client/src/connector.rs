//! Opens connections: from the configuration of a server to a started one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::{self, Debug};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use codex_environments::wire::VariablePolicy;
use codex_environments::{Environments, RemoteCommand, RemotePath};
use codex_exec::Processes;
use codex_http::{Environment, HttpPool};
use codex_protocol::Tool;
use codex_system::facts::BASIC_VARIABLES;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::config::{
    McpServerConfig, McpServerTransport, ProgramElsewhere, ProgramGuard, ProgramRefused,
    ProgramStart,
};
use crate::connection::McpConnection;
use crate::dispatcher::{ElicitationHandler, MessageDispatcher};
use crate::error::McpError;
use crate::http::{Authorizer, HttpTransport, ScopeDemand, headers_of};
use crate::oauth::{
    McpAuthorization, McpLoginError, McpLoginOptions, McpLogins, OAuthClient, StartedMcpLogin,
    discover,
};
use crate::remote_stdio::RemoteProgram;
use crate::stdio::{ServerProgram, StdioTransport};
use crate::transport::Transport;

/// The capacity of the queue of replies and notifications to a server.
const REPLIES: usize = 128;

/// Numbers the programs of other machines.
static NEXT_PROGRAM: AtomicU64 = AtomicU64::new(0);

/// Opens connections to MCP servers.
#[derive(Clone)]
pub struct McpConnector {
    /// Starts the programs of servers.
    pub processes: Arc<dyn Processes>,
    /// The other machines; none if programs of those cannot be started.
    pub environments: Option<Arc<Environments>>,
    pub http: Arc<HttpPool>,
    /// The environment of this process.
    pub environment: Arc<dyn Environment>,
    /// The stored logins.
    pub logins: McpLogins,
    /// The default working folder of programs.
    pub cwd: PathBuf,
    /// The client version that is sent in the handshake.
    pub version: String,
}

impl Debug for McpConnector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("McpConnector")
            .finish_non_exhaustive()
    }
}

/// An MCP server that is ready for requests.
#[derive(Clone, Debug)]
pub struct RunningMcpServer {
    pub connection: McpConnection,
    /// The tools that the configuration enables.
    pub tools: Vec<Tool>,
    /// What the server says beside the list of its tools.
    pub tool_list_meta: Option<serde_json::Value>,
}

/// The program, if the guard lets it start.
async fn checked(
    mut program: ServerProgram,
    guard: ProgramGuard,
) -> Result<ServerProgram, McpError> {
    let checked = tokio::task::spawn_blocking(move || {
        let environment: BTreeMap<_, _> = program.environment.iter().cloned().collect();
        let start = ProgramStart {
            command: &program.command,
            environment: &environment,
            cwd: &program.cwd,
        };
        // Later variables replace earlier ones.
        program.environment.extend(guard.check(&start)?);
        Ok(program)
    });
    match checked.await {
        Ok(checked) => checked.map_err(|refused: ProgramRefused| McpError::Launch(refused.0)),
        Err(error) => Err(McpError::Launch(error.to_string())),
    }
}

impl McpConnector {
    /// Starts a server and lists its tools. Dropping the future stops the server again.
    ///
    /// # Errors
    /// The server does not start, or not in time.
    pub async fn start(
        &self,
        server: &McpServerConfig,
        questions: Arc<dyn ElicitationHandler>,
    ) -> Result<RunningMcpServer, McpError> {
        if !server.has_usable_name() {
            return Err(McpError::Name(server.name.clone()));
        }
        let connection = self.connect(server, questions).await?;
        connection.begin(server.startup_timeout).await?;
        let limit = server.startup_timeout;
        // The time limit covers all pages of the list.
        let tools = tokio::time::timeout(limit, connection.tools(limit));
        let (tools, tool_list_meta) = tools.await.unwrap_or(Err(McpError::Timeout {
            method: "tools/list",
            limit,
        }))?;
        Ok(RunningMcpServer {
            connection,
            tools: server.offered(tools),
            tool_list_meta,
        })
    }

    /// Starts a login to a server. A pending login to the same server is cancelled.
    ///
    /// # Errors
    /// The server does not support logins.
    pub async fn log_in(
        &self,
        server: &McpServerConfig,
        options: McpLoginOptions,
    ) -> Result<StartedMcpLogin, McpLoginError> {
        let McpServerTransport::Http { url, .. } = &server.transport else {
            return Err(McpLoginError::Program);
        };
        let failed = |error: McpError| McpLoginError::Failed(error.to_string());
        let headers = headers_of(server, self.environment.as_ref()).map_err(failed)?;
        let oauth_client = self.oauth_client(url, &headers).map_err(failed)?;
        self.logins.begin(server, oauth_client, options).await
    }

    /// How requests to a server are authorized. Asks the server if the configuration and the stored logins do not
    /// tell.
    pub async fn authorization(&self, server: &McpServerConfig) -> McpAuthorization {
        let McpServerTransport::Http {
            url,
            bearer_token_variable,
            login,
            ..
        } = &server.transport
        else {
            return McpAuthorization::Unsupported;
        };
        if bearer_token_variable.is_some() || login.is_some() {
            return McpAuthorization::BearerToken;
        }
        let Ok(headers) = headers_of(server, self.environment.as_ref()) else {
            return McpAuthorization::Unsupported;
        };
        if headers.contains_key(AUTHORIZATION) {
            return McpAuthorization::BearerToken;
        }
        if self.logins.has(server) {
            return McpAuthorization::Login;
        }
        let Ok(oauth_client) = self.oauth_client(url, &headers) else {
            return McpAuthorization::Unsupported;
        };
        match discover(&oauth_client).await {
            Ok(Some(_)) => McpAuthorization::NotLoggedIn,
            Ok(None) | Err(_) => McpAuthorization::Unsupported,
        }
    }

    fn oauth_client(&self, url: &str, headers: &HeaderMap) -> Result<OAuthClient, McpError> {
        let oauth_client = OAuthClient::new(Arc::clone(&self.http), url, headers.clone());
        oauth_client.map_err(McpError::Http)
    }

    async fn connect(
        &self,
        server: &McpServerConfig,
        questions: Arc<dyn ElicitationHandler>,
    ) -> Result<McpConnection, McpError> {
        let closed = CancellationToken::new();
        // Closes everything that was started if this future is dropped.
        let begun = closed.clone().drop_guard();
        let (sender, outgoing) = mpsc::channel(REPLIES);
        let name = server.name.clone();
        let dispatcher = Arc::new(MessageDispatcher::new(
            name.clone(),
            questions,
            sender,
            closed.clone(),
        ));
        let transport = match &server.transport {
            McpServerTransport::Program { .. } => {
                let program = self.program(&server.transport);
                let program = checked(program, server.guard.clone()).await?;
                let processes = &*self.processes;
                let started =
                    StdioTransport::start(processes, program, name, &dispatcher, closed.clone());
                Transport::Stdio(started.await?)
            }
            McpServerTransport::Elsewhere(program) => {
                let program = self.program_elsewhere(program)?;
                let environments = self.environments.as_deref().ok_or_else(|| {
                    McpError::Launch("this command reaches no other machines".to_owned())
                })?;
                let started = StdioTransport::start_elsewhere(
                    environments,
                    program,
                    name,
                    &dispatcher,
                    closed.clone(),
                );
                Transport::Stdio(started.await?)
            }
            McpServerTransport::Http {
                url,
                other_url,
                login,
                ..
            } => {
                let client = self.http.client(url);
                let client = client.map_err(|error| McpError::Http(error.to_string()))?;
                let headers = headers_of(server, self.environment.as_ref())?;
                let authorizer = if let Some(login) = login {
                    Some(Authorizer::Login(login.clone()))
                } else if headers.contains_key(AUTHORIZATION) {
                    None
                } else {
                    let client = self.oauth_client(url, &headers)?;
                    let tokens = self.logins.tokens(server, client);
                    tokens.map(|tokens| Authorizer::Tokens(tokens, self.scope_demand(server, url)))
                };
                let http = HttpTransport::new(client.clone(), url, headers, authorizer)
                    .or_at(other_url.clone());
                Transport::Http(Box::new(http))
            }
        };
        begun.disarm();
        Ok(McpConnection::over(
            transport,
            dispatcher,
            outgoing,
            &self.version,
            closed,
        ))
    }

    fn scope_demand(&self, server: &McpServerConfig, url: &str) -> ScopeDemand {
        let (logins, name, url) = (self.logins.clone(), server.name.clone(), url.to_owned());
        ScopeDemand(Box::new(move |scopes| logins.demand(&name, &url, scopes)))
    }

    fn program_elsewhere(&self, program: &ProgramElsewhere) -> Result<RemoteProgram, McpError> {
        let ProgramElsewhere {
            environment,
            command,
            arguments,
            variables,
            inherited_variables,
            cwd,
        } = program;
        let cwd = RemotePath::new(cwd).ok_or_else(|| {
            McpError::Launch(format!("`{cwd}` is no absolute path of `{environment}`"))
        })?;
        let inherited = inherited_variables
            .iter()
            .filter_map(|name| Some((name.clone(), self.environment.variable(name)?)));
        let number = NEXT_PROGRAM.fetch_add(1, Ordering::Relaxed);
        let unique = std::process::id();
        let words = std::iter::once(command).chain(arguments);
        let command = RemoteCommand {
            id: format!("mcp-stdio-{number}-{unique}"),
            argv: words.cloned().collect(),
            cwd,
            env: inherited.chain(variables.clone()).collect(),
            env_policy: VariablePolicy {
                ignore_default_excludes: true,
                ..VariablePolicy::default()
            },
            has_terminal: false,
            takes_input: true,
            sandbox: None,
        };
        Ok(RemoteProgram {
            environment: environment.clone(),
            command,
        })
    }

    fn program(&self, transport: &McpServerTransport) -> ServerProgram {
        let McpServerTransport::Program {
            command,
            arguments,
            variables,
            inherited_variables,
            cwd,
        } = transport
        else {
            return ServerProgram {
                command: Vec::new(),
                environment: Vec::new(),
                cwd: self.cwd.clone(),
            };
        };
        let inherited = BASIC_VARIABLES
            .iter()
            .copied()
            .chain(inherited_variables.iter().map(String::as_str));
        let inherited = inherited
            .filter(|name| !variables.contains_key(*name))
            .filter_map(|name| Some((name.to_owned(), self.environment.variable(name)?)));
        let own = variables
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()));
        let text = |(name, value): (String, String)| (name.into(), value.into());
        let words = std::iter::once(command).chain(arguments);
        ServerProgram {
            command: words.map(OsString::from).collect(),
            environment: inherited.chain(own).map(text).collect(),
            cwd: match cwd {
                Some(cwd) => self.cwd.join(cwd),
                None => self.cwd.clone(),
            },
        }
    }
}
