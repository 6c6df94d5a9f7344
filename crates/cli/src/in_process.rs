//! A server in this process, for commands that are its client.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use codex_app_server::{InMemory, serve_in_memory};
use codex_client::Client;
use codex_scenario::Scenario;

use crate::app_server;
use crate::host::HostPurpose;
use crate::settings_flags::SettingsFlags;
use crate::wiring::TraceRecorder;

/// Runs `serve` with a client of a new server, to the end of both.
pub(crate) fn run(
    settings: &SettingsFlags,
    scenario: Option<&Path>,
    serve: impl AsyncFnOnce(Client) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    app_server::start_log();
    let scenario = scenario.map(Scenario::load).transpose()?;
    let runtime = crate::runtime::here()?;
    let tracing = TraceRecorder::from_environment();
    let served = runtime.block_on(async {
        let recorder = tracing.clone();
        let server = app_server::server(settings, scenario, recorder, HostPurpose::Clients).await?;
        let InMemory {
            input,
            output,
            served,
        } = serve_in_memory(server);
        serve(Client::new(output, input)).await?;
        served.await.context("the engine failed")??;
        Ok(ExitCode::SUCCESS)
    });
    // Background tasks must not keep the process alive.
    runtime.shutdown_background();
    tracing.finish();
    served
}
