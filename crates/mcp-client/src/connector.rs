//! From what is configured to a connection.

use std::ffi::OsString;
use std::fmt::{self, Debug};
use std::path::PathBuf;
use std::sync::Arc;

use codex_exec::Launcher;
use codex_http::{Environment, HttpPool};
use codex_protocol::Tool;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::connection::Connection;
use crate::error::McpError;
use crate::http::{Http, headers_of};
use crate::inbox::{Inbox, Questions};
use crate::oauth::{
    Authorization, Caller, LoginError, LoginOptions, Logins, StartedLogin, discover,
};
use crate::server::{Server, Way};
use crate::stdio::{Program, Stdio};
use crate::transport::Transport;

/// The variables that every program gets, if they are set.
#[cfg(unix)]
const PASSED_ON: [&str; 11] = [
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "USER",
    "__CF_USER_TEXT_ENCODING",
    "LANG",
    "LC_ALL",
    "TERM",
    "TMPDIR",
    "TZ",
];
/// What the inbox of a connection may want to send at once.
const REPLIES: usize = 128;

/// Connects to servers.
#[derive(Clone)]
pub struct Connector {
    /// Starts programs.
    pub launcher: Launcher,
    /// Connections over HTTP.
    pub http: Arc<HttpPool>,
    /// The variables of this process.
    pub environment: Arc<dyn Environment>,
    /// The logins to servers.
    pub logins: Logins,
    /// Where programs run by default.
    pub cwd: PathBuf,
    /// Our version.
    pub version: String,
}

impl Debug for Connector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connector").finish_non_exhaustive()
    }
}

/// A server that has started.
#[derive(Clone, Debug)]
pub struct Running {
    /// The connection to it.
    pub connection: Connection,
    /// Its tools that count.
    pub tools: Vec<Tool>,
}

impl Connector {
    /// Starts a server and learns its tools. Dropping the future ends what was started.
    ///
    /// # Errors
    /// It does not start, or not in time.
    pub async fn start(
        &self,
        server: &Server,
        questions: Arc<dyn Questions>,
    ) -> Result<Running, McpError> {
        if !server.has_usable_name() {
            return Err(McpError::Name(server.name.clone()));
        }
        let connection = self.connect(server, questions).await?;
        connection.begin(server.startup_timeout).await?;
        let limit = server.startup_timeout;
        // However many pages there are, they have the time of one.
        let tools = tokio::time::timeout(limit, connection.tools(limit));
        let tools = tools.await.unwrap_or(Err(McpError::Timeout {
            method: "tools/list",
            limit,
        }))?;
        Ok(Running {
            connection,
            tools: server.counting(tools),
        })
    }

    /// Begins a login to a server. One that waits already is given up.
    ///
    /// # Errors
    /// There is no way to log in.
    pub async fn log_in(
        &self,
        server: &Server,
        options: LoginOptions,
    ) -> Result<StartedLogin, LoginError> {
        let Way::Http { url, .. } = &server.way else {
            return Err(LoginError::Program);
        };
        let failed = |error: McpError| LoginError::Failed(error.to_string());
        let headers = headers_of(server, self.environment.as_ref()).map_err(failed)?;
        let caller = self.caller(url, &headers).map_err(failed)?;
        self.logins.begin(server, caller, options).await
    }

    /// How requests to a server are authorised. Asks it, if nothing else tells.
    pub async fn authorization(&self, server: &Server) -> Authorization {
        let Way::Http {
            url,
            bearer_token_variable,
            ..
        } = &server.way
        else {
            return Authorization::Unsupported;
        };
        if bearer_token_variable.is_some() {
            return Authorization::BearerToken;
        }
        let Ok(headers) = headers_of(server, self.environment.as_ref()) else {
            return Authorization::Unsupported;
        };
        if headers.contains_key(AUTHORIZATION) {
            return Authorization::BearerToken;
        }
        if self.logins.has(server) {
            return Authorization::Login;
        }
        let Ok(caller) = self.caller(url, &headers) else {
            return Authorization::Unsupported;
        };
        match discover(&caller).await {
            Ok(Some(_)) => Authorization::NotLoggedIn,
            Ok(None) | Err(_) => Authorization::Unsupported,
        }
    }

    fn caller(&self, url: &str, headers: &HeaderMap) -> Result<Caller, McpError> {
        let caller = Caller::new(Arc::clone(&self.http), url, headers.clone());
        caller.map_err(McpError::Http)
    }

    async fn connect(
        &self,
        server: &Server,
        questions: Arc<dyn Questions>,
    ) -> Result<Connection, McpError> {
        let closed = CancellationToken::new();
        // Whatever was begun ends if this is dropped on the way.
        let begun = closed.clone().drop_guard();
        let (sender, outgoing) = mpsc::channel(REPLIES);
        let name = server.name.clone();
        let inbox = Arc::new(Inbox::new(name.clone(), questions, sender, closed.clone()));
        let transport = match &server.way {
            Way::Program { .. } => {
                let program = self.program(&server.way);
                let launcher = &self.launcher;
                let started = Stdio::start(launcher, program, name, &inbox, closed.clone());
                Transport::Stdio(started.await?)
            }
            Way::Http { url, .. } => {
                let client = self.http.client(url);
                let client = client.map_err(|error| McpError::Http(error.to_string()))?;
                let headers = headers_of(server, self.environment.as_ref())?;
                let tokens = if headers.contains_key(AUTHORIZATION) {
                    None
                } else {
                    self.logins.tokens(server, self.caller(url, &headers)?)
                };
                let http = Http::new(client.clone(), url, headers, tokens);
                Transport::Http(Box::new(http))
            }
        };
        begun.disarm();
        Ok(Connection::over(
            transport,
            inbox,
            outgoing,
            &self.version,
            closed,
        ))
    }

    fn program(&self, way: &Way) -> Program {
        let Way::Program {
            command,
            arguments,
            variables,
            passed_on,
            cwd,
        } = way
        else {
            return Program {
                command: Vec::new(),
                environment: Vec::new(),
                cwd: self.cwd.clone(),
            };
        };
        let inherited = PASSED_ON
            .into_iter()
            .chain(passed_on.iter().map(String::as_str));
        let inherited = inherited
            .filter(|name| !variables.contains_key(*name))
            .filter_map(|name| Some((name.to_owned(), self.environment.variable(name)?)));
        let own = variables
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()));
        let text = |(name, value): (String, String)| (name.into(), value.into());
        let words = std::iter::once(command).chain(arguments);
        Program {
            command: words.map(OsString::from).collect(),
            environment: inherited.chain(own).map(text).collect(),
            cwd: match cwd {
                Some(cwd) => self.cwd.join(cwd),
                None => self.cwd.clone(),
            },
        }
    }
}
