//! Layer: surface. The `codex` binary: argument parsing and wiring, no behaviour of its own.

mod app_server;
mod generate;

use clap::Parser;
use clap::Subcommand;

/// The local engine behind AI coding assistants in IDEs.
#[derive(Debug, Parser)]
#[command(
    name = "codex",
    display_name = "codex-cli",
    version,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve IDE extensions over JSON-RPC, or describe what is served.
    AppServer(app_server::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::AppServer(arguments) => app_server::run(arguments),
    }
}
