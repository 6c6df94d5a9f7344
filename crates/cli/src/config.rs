//! `codex config`: describes the settings.

use clap::Subcommand;

use crate::print;

/// `schema/config.json`.
static SCHEMA: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/config.zst"));

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the JSON Schema of config.toml, for editors.
    Schema,
}

pub(crate) fn run(command: &ConfigCommand) -> anyhow::Result<()> {
    match command {
        ConfigCommand::Schema => {
            zstd::stream::copy_decode(SCHEMA, print::output())?;
            Ok(())
        }
    }
}
