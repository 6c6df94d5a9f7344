//! `codex batch`: many tasks, here or on a scheduler.

mod create;
mod progress;
mod run;
mod submit;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use codex_batch::{BatchFolder, RowStatus, collect};

use crate::print::answer;
use crate::settings_flags::SettingsFlags;

#[derive(Debug, Args)]
#[command(after_help = "\
A batch is a folder: `create` makes it from a task file, any number of `run` commands on any machines that share the folder \
work on it, and `collect` gathers the results.")]
pub(crate) struct BatchArguments {
    #[command(subcommand)]
    command: BatchCommand,
}

#[derive(Debug, Subcommand)]
enum BatchCommand {
    /// Make a run folder from a task file.
    Create(Box<create::CreateArguments>),
    /// Work on rows that no other worker has, until none is left.
    Run(run::RunArguments),
    /// Show how far a batch is.
    Status(progress::StatusArguments),
    /// Write results.csv, results.jsonl and results.html into the run folder.
    Collect(FolderArguments),
    /// Mark rows to be tried again.
    Retry(RetryArguments),
    /// Write the job file of a scheduler, and submit it with --apply.
    Submit(Box<submit::SubmitArguments>),
}

#[derive(Debug, Args)]
struct FolderArguments {
    /// The run folder.
    folder: PathBuf,
}

#[derive(Debug, Args)]
struct RetryArguments {
    /// The run folder.
    folder: PathBuf,
    /// The rows that failed, had a failed check, or came to a limit.
    #[arg(long, required = true)]
    failed: bool,
}

pub(crate) fn run(arguments: BatchArguments, settings: &SettingsFlags) -> anyhow::Result<ExitCode> {
    match arguments.command {
        BatchCommand::Create(arguments) => create::create(*arguments).map(success),
        BatchCommand::Run(arguments) => run::run(&arguments, settings),
        BatchCommand::Status(arguments) => progress::show(&arguments).map(success),
        BatchCommand::Collect(FolderArguments { folder }) => {
            let collected = collect(&BatchFolder::open(&folder)?)?;
            answer(format!(
                "{} rows have a result, {} have none.\n{}\n{}\n{}",
                collected.finished,
                collected.unfinished,
                collected.csv.display(),
                collected.json_lines.display(),
                collected.page.display()
            ));
            Ok(ExitCode::SUCCESS)
        }
        BatchCommand::Retry(RetryArguments { folder, failed: _ }) => {
            let folder = BatchFolder::open(&folder)?;
            let count = folder.retry(|result| result.status != RowStatus::Passed)?;
            answer(format!(
                "{count} rows are tried again by the next `codex batch run`."
            ));
            Ok(ExitCode::SUCCESS)
        }
        BatchCommand::Submit(arguments) => submit::submit(&arguments),
    }
}

fn success((): ()) -> ExitCode {
    ExitCode::SUCCESS
}
