//! `codex programs`: the programs that the engine started outside of the sandbox, and what they ran.

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use codex_config::{Config, RequestParams};
use codex_engine_host::wiring;
use codex_program_files::{ProgramRecord, RecordEntry};
use codex_visible_text::visible_line;

use crate::print::answer_text;
use crate::settings_flags::SettingsFlags;

#[derive(Debug, Args)]
pub(crate) struct ProgramsArguments {
    #[command(subcommand)]
    command: ProgramsCommand,
}

#[derive(Debug, Subcommand)]
enum ProgramsCommand {
    /// List the programs, and the changed files because of which they do not start.
    List,
    /// Let a program start again with the files that have changed.
    Trust(ProgramsTrustArguments),
}

#[derive(Debug, Args)]
struct ProgramsTrustArguments {
    /// The name of the program, as it is listed.
    name: String,
}

pub(crate) fn run(arguments: ProgramsArguments, before: SettingsFlags) -> anyhow::Result<ExitCode> {
    let cwd = std::env::current_dir().context("cannot determine the working folder")?;
    let overrides = before.overrides()?;
    let config: Config = wiring::load_config(Some(&cwd), &overrides, &RequestParams::default())?;
    let record = ProgramRecord::of_home(&config.home);
    match arguments.command {
        ProgramsCommand::List => {
            for entry in record
                .all()
                .context("cannot read the records of programs")?
            {
                answer_text(&describe(&entry));
            }
        }
        ProgramsCommand::Trust(ProgramsTrustArguments { name }) => {
            let trusted = record.trust(&name);
            let trusted = trusted.with_context(|| format!("cannot record the files of {name}"))?;
            if trusted.is_empty() {
                bail!("no file of {name} has changed since it was started before");
            }
            for entry in &trusted {
                answer_text(&describe(entry));
            }
            answer_text("It starts with these files from now on.\n");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn describe(entry: &RecordEntry) -> String {
    let command = visible_line(&entry.command.join(" "));
    let cwd = visible_line(&entry.cwd.display().to_string());
    let mut text = format!("{}: {command} (in {cwd})\n", visible_line(&entry.name));
    for path in entry.changed() {
        let path = visible_line(&path.display().to_string());
        text.push_str(&format!("  has changed: {path}\n"));
    }
    text
}
