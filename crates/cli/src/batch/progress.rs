//! `codex batch status`: how far a batch is, in a table that is written again.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use codex_batch::{BatchFolder, status};

use crate::print::{answer, output};

/// How often the table is written again.
const REFRESH: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    /// The run folder.
    folder: PathBuf,
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// Once, also on a terminal. Otherwise it is shown until no row runs.
    #[arg(long)]
    once: bool,
}

pub(super) fn show(arguments: &StatusArguments) -> anyhow::Result<()> {
    let folder = BatchFolder::open(&arguments.folder)?;
    if arguments.json {
        answer(&serde_json::to_string_pretty(&status(&folder)?)?);
        return Ok(());
    }
    let is_live = !arguments.once && std::io::stdout().is_terminal();
    let mut out = output();
    let mut lines = 0;
    loop {
        let now = status(&folder)?;
        if lines > 0 {
            write!(out, "\x1b[{lines}A\x1b[J")?;
        }
        let text = now.to_string();
        lines = text.lines().count();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        if !is_live || now.running == 0 {
            return Ok(());
        }
        std::thread::sleep(REFRESH);
    }
}
