//! `codex man`: manual pages.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Command};

#[derive(Debug, Args)]
#[command(after_help = "\
Example:\n  codex man ~/.local/share/man/man1")]
pub(crate) struct ManArguments {
    /// The folder to write the pages to; it is made if it is missing.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(arguments: &ManArguments, command: Command) -> anyhow::Result<()> {
    let folder = &arguments.folder;
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command.display_name("codex"), folder))
        .with_context(|| format!("cannot write manual pages to {}", folder.display()))
}
