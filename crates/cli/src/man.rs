//! `codex man`: manual pages.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Command};
use codex_regular_file::{LinkFreeFolder, NewFile};

use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:\n  codex man ~/.local/share/man/man1\n  codex man - | man -l -")]
pub(crate) struct ManArguments {
    /// The folder to write the pages to; it is made if it is missing. With `-`, all pages go to standard output.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(arguments: &ManArguments, command: Command) -> anyhow::Result<()> {
    let folder = &arguments.folder;
    let failed = || format!("cannot write manual pages to {}", folder.display());
    let made = tempfile::tempdir().with_context(failed)?;
    clap_mangen::generate_to(command.display_name("codex"), made.path()).with_context(failed)?;
    let mut pages = Vec::new();
    for page in fs::read_dir(made.path()).with_context(failed)? {
        let page = page.with_context(failed)?;
        pages.push((
            page.file_name(),
            fs::read(page.path()).with_context(failed)?,
        ));
    }
    pages.sort();
    if folder == Path::new("-") {
        let mut output = print::output();
        for (_, text) in pages {
            output.write_all(&text).with_context(failed)?;
        }
        return Ok(());
    }
    fs::create_dir_all(folder).with_context(failed)?;
    let folder = LinkFreeFolder::open(folder).with_context(failed)?;
    for (name, text) in pages {
        folder
            .replace(Path::new(&name), NewFile::Usual, |file| {
                file.write_all(&text)
            })
            .with_context(failed)?;
    }
    Ok(())
}
