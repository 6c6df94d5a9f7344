//! `codex mcp-server`: the engine as an MCP server. It is a client of the app-server, in this process.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use codex_client_commands::ServerChoice;
use codex_engine_host::host::HostPurpose;

use crate::settings_flags::SettingsFlags;

#[derive(Debug, Args)]
#[command(after_help = "\
It speaks MCP on standard input and output and offers two tools: `codex` starts an agent on a task, \
`codex-reply` continues its thread.\n\n\
Examples:\n  codex mcp-server                                  what an MCP client starts\n  \
npx @modelcontextprotocol/inspector codex mcp-server\n\n\
Exit status: 0 the client closed the input, 1 it could not be served, 2 wrong usage.")]
pub(crate) struct McpServerArguments {
    /// Play the model's part from a scenario file: no key, no network, no cost.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
}

pub(crate) fn run(
    arguments: McpServerArguments,
    settings: SettingsFlags,
) -> anyhow::Result<ExitCode> {
    let server = ServerChoice::here_for(
        HostPurpose::Clients,
        settings.overrides()?,
        arguments.scenario,
    );
    server.run(async |client| {
        let version = env!("CARGO_PKG_VERSION");
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let stop = codex_system::signals::first();
        Ok(codex_mcp_server::serve(client, version, input, output, stop).await?)
    })?;
    Ok(ExitCode::SUCCESS)
}
