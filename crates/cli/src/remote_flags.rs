//! Flags that name a running server, for commands that are its clients.

use anyhow::{Context, bail};
use clap::Args;
use codex_client::{Client, ServerAddress, connect};
use codex_daemon::DaemonFolder;

use codex_engine_host::environment;
use codex_engine_host::resources::http_pool;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RemoteFlags {
    /// Use a running server: `ws://HOST:PORT`, `wss://HOST:PORT`, `unix://PATH`, or `unix://` for the one that `codex
    /// app-server daemon` starts.
    #[arg(long, global = true, value_name = "ADDR")]
    remote: Option<String>,
    /// With --remote: the environment variable with the token that the server asks for.
    #[arg(long, global = true, value_name = "ENV_VAR")]
    remote_auth_token_env: Option<String>,
}

impl RemoteFlags {
    /// The server in the background.
    pub(crate) fn home_socket() -> Self {
        Self {
            remote: Some("unix://".to_owned()),
            remote_auth_token_env: None,
        }
    }

    /// Combines these flags with those before the subcommand.
    pub(crate) fn or(self, before: Self) -> Self {
        Self {
            remote: self.remote.or(before.remote),
            remote_auth_token_env: self.remote_auth_token_env.or(before.remote_auth_token_env),
        }
    }

    pub(crate) fn are_given(&self) -> bool {
        self.remote.is_some() || self.remote_auth_token_env.is_some()
    }

    /// The address of the server; none for one in this process.
    pub(crate) fn address(&self) -> anyhow::Result<Option<ServerAddress>> {
        match &self.remote {
            Some(address) => Ok(Some(ServerAddress::parse(address)?)),
            None if self.remote_auth_token_env.is_some() => {
                bail!("--remote-auth-token-env needs --remote")
            }
            None => Ok(None),
        }
    }

    /// Connects to a server.
    pub(crate) async fn connect(&self, address: &ServerAddress) -> anyhow::Result<Client> {
        let token = match &self.remote_auth_token_env {
            Some(name) => Some(token(name)?),
            None => None,
        };
        let resolved = match address {
            ServerAddress::HomeSocket => {
                let folder = DaemonFolder::of_home(&environment::home()?);
                ServerAddress::Socket(folder.socket())
            }
            address => address.clone(),
        };
        let connected = connect(&resolved, token.as_deref(), &http_pool()).await;
        let named = self.remote.as_deref().unwrap_or_default();
        connected.with_context(|| match address {
            ServerAddress::HomeSocket => {
                "cannot use the server in the background; `codex app-server daemon start` starts it"
                    .to_owned()
            }
            _ => format!("cannot use the server at {named}"),
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
