//! `codex app-server` and the commands below it.

use anyhow::bail;
use clap::Args;
use clap::Subcommand;

use crate::generate;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::enum_variant_names)] // The names of the commands.
enum Command {
    /// Write the protocol's types as TypeScript, a file per type.
    GenerateTs(generate::Arguments),
    /// Write the protocol's types as JSON Schema, a file per type and two bundles.
    GenerateJsonSchema(generate::Arguments),
    /// Write an OpenRPC document of every method.
    #[command(name = "generate-openrpc")]
    GenerateOpenRpc(generate::Arguments),
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Some(Command::GenerateTs(arguments)) => {
            generate::run(&arguments, codex_app_server_protocol::export::typescript)
        }
        Some(Command::GenerateJsonSchema(arguments)) => {
            generate::run(&arguments, codex_app_server_protocol::export::json_schema)
        }
        Some(Command::GenerateOpenRpc(arguments)) => {
            generate::run(&arguments, codex_app_server_protocol::export::openrpc)
        }
        None => bail!(
            "the server itself is not part of this version yet; \
             see `codex app-server --help` for what is"
        ),
    }
}
