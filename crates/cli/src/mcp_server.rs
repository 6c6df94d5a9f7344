//! `codex mcp-server`: the engine as an MCP server. It is a client of the app-server, in this process.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use codex_app_server::{InMemory, serve_in_memory};
use codex_client::Client;
use codex_scenario::Scenario;

use crate::app_server;
use crate::host::HostPurpose;
use crate::settings_flags::SettingsFlags;
use crate::wiring::TraceRecorder;

#[derive(Debug, Args)]
#[command(after_help = "\
It speaks MCP on standard input and output and offers two tools: `codex` starts an agent on a task, \
`codex-reply` says more to it.\n\n\
Examples:\n  codex mcp-server                                  what an MCP client starts\n  \
npx @modelcontextprotocol/inspector codex mcp-server\n\n\
Exit status: 0 the client closed the input, 1 it could not be served, 2 wrong usage.")]
pub(crate) struct McpServerArguments {
    /// Play the model's part from a scenario file: no key, no network, no cost.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingsFlags,
}

/// `before` are the settings that stand in front of the command.
pub(crate) fn run(
    arguments: McpServerArguments,
    before: SettingsFlags,
) -> anyhow::Result<ExitCode> {
    app_server::start_log();
    let settings = before.followed_by(arguments.settings);
    let scenario = arguments.scenario.as_deref().map(Scenario::load);
    let runtime = crate::runtime::here()?;
    let tracing = TraceRecorder::from_environment();
    let served = runtime.block_on(serve(&settings, scenario.transpose()?, tracing.clone()));
    // Nothing that still runs may keep the process.
    runtime.shutdown_background();
    tracing.finish();
    served.map(|()| ExitCode::SUCCESS)
}

async fn serve(
    settings: &SettingsFlags,
    scenario: Option<Scenario>,
    tracing: TraceRecorder,
) -> anyhow::Result<()> {
    let server = app_server::server(settings, scenario, tracing, HostPurpose::Clients).await?;
    let InMemory {
        input,
        output,
        served,
    } = serve_in_memory(server);
    let client = Client::new(output, input);
    let version = env!("CARGO_PKG_VERSION");
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    codex_mcp_server::serve(client, version, input, output, crate::signals::end()).await?;
    served.await.context("the engine failed")??;
    Ok(())
}
