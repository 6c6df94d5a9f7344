//! The server of a command: one in this process, or a running one.

use std::path::Path;

use anyhow::Context;
use codex_app_server::{InMemory, serve_in_memory};
use codex_client::{Client, ServerAddress};
use codex_protocol::Release;
use codex_scenario::Scenario;
use tokio::task::JoinHandle;

use crate::app_server;
use crate::remote_flags::RemoteFlags;
use crate::settings_flags::SettingsFlags;
use codex_engine_host::host::HostPurpose;
use codex_engine_host::wiring::TraceRecorder;

/// The end of a server in this process.
pub(crate) struct ServerEnd(Option<JoinHandle<std::io::Result<()>>>);

impl ServerEnd {
    /// Waits for it, once the client has finished.
    pub(crate) async fn wait(self) -> anyhow::Result<()> {
        if let Some(served) = self.0 {
            served.await.context("the server failed")??;
        }
        Ok(())
    }
}

/// Connects to the running server at an address, or starts one in this process.
pub(crate) async fn connect(
    remote: &RemoteFlags,
    address: Option<&ServerAddress>,
    settings: &SettingsFlags,
    scenario: Option<Scenario>,
    tracing: TraceRecorder,
    purpose: HostPurpose,
) -> anyhow::Result<(Client, ServerEnd)> {
    if let Some(address) = address {
        if settings.leave_out_files() {
            anyhow::bail!(
                "--ignore-user-config and --ignore-rules are for a server in this process; start the server with them"
            );
        }
        return Ok((remote.connect(address).await?, ServerEnd(None)));
    }
    let server = app_server::server(settings, scenario, tracing, purpose).await?;
    server.set_client_release(Release::OWN);
    let InMemory {
        input,
        output,
        served,
    } = serve_in_memory(server);
    Ok((Client::new(output, input), ServerEnd(Some(served))))
}

/// Runs `act` with a client of a server.
pub(crate) fn run<T>(
    remote: &RemoteFlags,
    settings: &SettingsFlags,
    scenario: Option<&Path>,
    purpose: HostPurpose,
    act: impl AsyncFnOnce(Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    app_server::start_log();
    let address = remote.address()?;
    let scenario = scenario.map(Scenario::load).transpose()?;
    let runtime = codex_engine_host::runtime::here()?;
    let tracing = TraceRecorder::from_environment();
    let done = runtime.block_on(async {
        let (address, recorder) = (address.as_ref(), tracing.clone());
        let (client, end) = connect(remote, address, settings, scenario, recorder, purpose).await?;
        let done = act(client).await?;
        end.wait().await?;
        Ok(done)
    });
    // Background tasks must not keep the process alive.
    runtime.shutdown_background();
    tracing.finish();
    done
}
