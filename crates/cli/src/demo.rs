//! `codex demo`: a complete session with a scripted model in a temporary folder.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use codex_client_commands::{Demo, play_demo};

use crate::print;
use crate::terminal::{Colours, screen};
use crate::turn_status::success_if_completed;

#[derive(Debug, Args)]
#[command(after_help = "\
Starts `codex app-server` with a model that follows a script, and is its client: you see \
what an IDE shows, and answer what it would ask you. Commands and patches are real and happen in a \
new folder, under the sandbox. Nothing leaves this machine and your own settings are not read.\n\n\
Exit status: 0 the session was completed, 1 it was not, 141 the reader of its output has left.")]
pub(crate) struct DemoArguments {
    /// Play this scenario (see docs/scenarios.md) instead of the built-in tour.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Answer all questions automatically: as the scenario says, otherwise with yes.
    #[arg(long)]
    auto: bool,
    /// Keep all files in this folder, which must be new or empty, instead of a temporary one.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// When to use colours.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    color: Colours,
}

pub(crate) fn run(arguments: DemoArguments) -> anyhow::Result<ExitCode> {
    let demo = Demo {
        script: arguments.script,
        is_automatic: arguments.auto,
        folder: arguments.folder,
        screen: screen(&io::stdout(), arguments.color),
    };
    let status = print::with_console_for_reader(|console| play_demo(&demo, console))?;
    Ok(success_if_completed(status))
}
