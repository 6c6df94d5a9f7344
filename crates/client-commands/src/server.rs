//! The server of a command: one in this process, or a running one.

use std::path::PathBuf;

use anyhow::{Context, bail};
use codex_app_server::{InMemory, serve_in_memory};
use codex_client::{Client, ClientError, ServerAddress, connect};
use codex_config::Overrides;
use codex_daemon::DaemonFolder;
use codex_engine_host::environment;
use codex_engine_host::host::HostPurpose;
use codex_engine_host::resources::http_pool;
use codex_engine_host::wiring::TraceRecorder;
use codex_engine_host::{log, runtime, server};
use codex_protocol::Release;
use codex_scenario::Scenario;
use serde_json::Value;
use tokio::task::JoinHandle;

/// A server that runs already.
#[derive(Clone, Debug)]
pub struct RunningServer {
    /// As the user named it.
    named: String,
    address: ServerAddress,
    /// The variable with the token that it asks for.
    token_variable: Option<String>,
}

impl RunningServer {
    /// # Errors
    /// The address is none of a server.
    pub fn at_address(named: &str, token_variable: Option<String>) -> anyhow::Result<Self> {
        Ok(Self {
            named: named.to_owned(),
            address: ServerAddress::parse(named)?,
            token_variable,
        })
    }

    /// The server in the background of the home folder.
    pub fn in_background() -> Self {
        Self {
            named: "unix://".to_owned(),
            address: ServerAddress::HomeSocket,
            token_variable: None,
        }
    }

    /// Whether it has the files of this machine.
    pub fn is_on_this_machine(&self) -> bool {
        self.address.is_on_this_machine()
    }

    async fn connect(&self) -> anyhow::Result<Client> {
        let token = self.token_variable.as_deref().map(token).transpose()?;
        let address = match &self.address {
            ServerAddress::HomeSocket => {
                let folder = DaemonFolder::of_home(&environment::home()?);
                ServerAddress::Socket(folder.socket())
            }
            address => address.clone(),
        };
        let connected = connect(&address, token.as_deref(), &http_pool()).await;
        connected.with_context(|| match &self.address {
            ServerAddress::HomeSocket => {
                "cannot use the server in the background; `codex app-server daemon start` starts it"
                    .to_owned()
            }
            _ => format!("cannot use the server at {}", self.named),
        })
    }
}

fn token(name: &str) -> anyhow::Result<String> {
    let token = environment::variable(name);
    let token = token.with_context(|| format!("{name} is not set"))?;
    match token.trim() {
        "" => bail!("{name} is empty"),
        token => Ok(token.to_owned()),
    }
}

/// The server that a command is a client of.
#[derive(Debug)]
pub struct ServerChoice {
    /// None for a server in this process, to which the rest applies.
    pub running: Option<RunningServer>,
    pub settings: Overrides,
    /// The file of a scripted model.
    pub scenario: Option<PathBuf>,
    pub purpose: HostPurpose,
}

impl ServerChoice {
    /// A server in this process with the configured model.
    pub fn here(settings: Overrides) -> Self {
        Self::here_for(HostPurpose::Clients, settings, None)
    }

    /// A server in this process for a purpose.
    pub fn here_for(purpose: HostPurpose, settings: Overrides, scenario: Option<PathBuf>) -> Self {
        Self {
            running: None,
            settings,
            scenario,
            purpose,
        }
    }

    /// Connects to the running server, or starts one in this process.
    ///
    /// # Errors
    /// The server does not answer, or cannot be started.
    pub async fn connect(self, tracing: TraceRecorder) -> anyhow::Result<(Client, ServerEnd)> {
        if let Some(running) = &self.running {
            if self.settings.leaves_out_files() {
                bail!(
                    "--ignore-user-config and --ignore-rules are for a server in this process; start the server with them"
                );
            }
            return Ok((running.connect().await?, ServerEnd(None)));
        }
        let scenario = self.scenario.as_deref().map(Scenario::load).transpose()?;
        let server = server::start(self.settings, scenario, tracing, self.purpose).await?;
        server.set_client_release(Release::OWN);
        let InMemory {
            input,
            output,
            served,
        } = serve_in_memory(server);
        Ok((Client::new(output, input), ServerEnd(Some(served))))
    }

    /// Runs `act` with a client of the server, to the end of both.
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect) and of `act`.
    pub fn run<T>(self, act: impl AsyncFnOnce(Client) -> anyhow::Result<T>) -> anyhow::Result<T> {
        log::start();
        let runtime = runtime::here()?;
        let tracing = TraceRecorder::from_environment();
        let done = runtime.block_on(async {
            let (client, end) = self.connect(tracing.clone()).await?;
            let done = act(client).await?;
            end.wait().await?;
            Ok(done)
        });
        // Background tasks must not keep the process alive.
        runtime.shutdown_background();
        tracing.finish();
        done
    }
}

/// The end of a server in this process.
#[derive(Debug)]
pub struct ServerEnd(Option<JoinHandle<std::io::Result<()>>>);

impl ServerEnd {
    /// Waits for it, once the client has finished.
    ///
    /// # Errors
    /// The server failed.
    pub async fn wait(self) -> anyhow::Result<()> {
        if let Some(served) = self.0 {
            served.await.context("the server failed")??;
        }
        Ok(())
    }
}

/// Sends a request. An error of the server is told in its own words.
///
/// # Errors
/// The server refuses or goes away.
pub async fn call(client: &mut Client, method: &str, params: &Value) -> anyhow::Result<Value> {
    match client.call(method, params).await {
        Err(ClientError::Refused { error, .. }) => bail!("{}", error.message),
        answer => Ok(answer?),
    }
}
