//! Writes generated protocol files to a folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use codex_app_server_protocol::export::{GeneratedFile, Surface};

#[derive(Debug, Args)]
pub(crate) struct GenerateArguments {
    /// The output folder; created if it does not exist.
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Include experimental parts, which clients must opt into.
    #[arg(long)]
    experimental: bool,
}

pub(crate) fn run(
    arguments: &GenerateArguments,
    export: impl Fn(Surface) -> Vec<GeneratedFile>,
) -> anyhow::Result<()> {
    let surface = if arguments.experimental {
        Surface::Experimental
    } else {
        Surface::Stable
    };
    let files = export(surface);
    let folders: BTreeSet<PathBuf> = files
        .iter()
        .filter_map(|file| Some(arguments.out.join(&file.path).parent()?.to_owned()))
        .collect();
    for folder in folders {
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    for file in files {
        let path = arguments.out.join(&file.path);
        fs::write(&path, &file.text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
