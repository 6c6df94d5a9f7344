//! Flags that name a running server, for commands that are its clients.

use anyhow::bail;
use clap::Args;
use codex_client_commands::RunningServer;

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

    /// The running server that they name; none for one in this process.
    pub(crate) fn server(&self) -> anyhow::Result<Option<RunningServer>> {
        let variable = &self.remote_auth_token_env;
        match &self.remote {
            Some(address) => Ok(Some(RunningServer::at_address(address, variable.clone())?)),
            None if variable.is_some() => bail!("--remote-auth-token-env needs --remote"),
            None => Ok(None),
        }
    }
}
