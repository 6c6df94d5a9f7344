//! A server in this process, for commands that are its client.

use std::path::Path;
use std::process::ExitCode;

use codex_client::Client;

use crate::connected_server;
use crate::remote_flags::RemoteFlags;
use crate::settings_flags::SettingsFlags;
use codex_engine_host::host::HostPurpose;

/// Runs `serve` with a client of a new server, to the end of both.
pub(crate) fn run(
    settings: &SettingsFlags,
    scenario: Option<&Path>,
    purpose: HostPurpose,
    serve: impl AsyncFnOnce(Client) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    connected_server::run(&RemoteFlags::default(), settings, scenario, purpose, serve)?;
    Ok(ExitCode::SUCCESS)
}
