//! A server process with a client.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use codex_client::Client;
use tokio::process::{Child, Command};

/// A server that has not ended after this time is killed.
const SERVER_EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The server process. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
}

impl ServerProcess {
    /// Starts the server and connects to its standard input and output.
    pub(crate) fn start(mut command: Command) -> anyhow::Result<(Self, Client)> {
        let program = command.as_std().get_program().display().to_string();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let streams = child.stdout.take().zip(child.stdin.take());
        let (output, input) = streams.context("the server has no standard streams")?;
        Ok((Self { child }, Client::new(output, input)))
    }

    /// Waits for the end of the server after the client has finished.
    pub(crate) async fn finish(mut self) -> anyhow::Result<ExitStatus> {
        match tokio::time::timeout(SERVER_EXIT_TIMEOUT, self.child.wait()).await {
            Ok(status) => Ok(status?),
            Err(_) => {
                self.child.kill().await?;
                anyhow::bail!(
                    "the server did not end in {} s",
                    SERVER_EXIT_TIMEOUT.as_secs()
                )
            }
        }
    }
}

/// The command that runs this program as a server.
///
/// # Errors
/// The path of this program is not known.
pub fn own_server() -> anyhow::Result<Command> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg("app-server");
    Ok(command)
}
