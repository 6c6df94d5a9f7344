//! `codex config`: describes the settings.

use std::io::Write;

use crate::print;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the JSON Schema of config.toml, for editors.
    Schema,
}

pub(crate) fn run(command: &ConfigCommand) -> anyhow::Result<()> {
    match command {
        ConfigCommand::Schema => {
            let text = serde_json::to_string_pretty(&codex_config::settings_schema())?;
            writeln!(print::output(), "{text}")?;
            Ok(())
        }
    }
}
