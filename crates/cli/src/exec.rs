//! `codex exec`: one turn without a UI, for scripts.

mod arguments;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use codex_app_server_protocol::v2::TurnStatus;
use codex_client_commands::{
    ExecTask, INTERRUPTED_EXIT_CODE, StoredThread, ThreadChoice, exec, read_prompt,
};
use codex_engine_host::console::Console;
use codex_engine_host::log;
use serde_json::{Value, json};

use crate::print;
use crate::settings_flags::SettingsFlags;
pub(crate) use arguments::{ExecArguments, StoredArguments, TrustingReviewArguments};
use arguments::{ExecCommand, ExecFlags, ReviewArguments};

pub(crate) fn run(arguments: ExecArguments, settings: SettingsFlags) -> anyhow::Result<ExitCode> {
    log::start();
    let status = print::with_console_for_reader(|console| run_to_end(arguments, settings, console));
    Ok(match status? {
        TurnStatus::Completed => ExitCode::SUCCESS,
        TurnStatus::Interrupted => ExitCode::from(INTERRUPTED_EXIT_CODE),
        TurnStatus::Failed | TurnStatus::InProgress => ExitCode::FAILURE,
    })
}

fn run_to_end(
    arguments: ExecArguments,
    settings: SettingsFlags,
    console: &mut Console<'_>,
) -> anyhow::Result<TurnStatus> {
    let ExecArguments {
        options: flags,
        prompt,
        command,
        stored,
    } = arguments;
    flags.other.check()?;
    let options = flags.options()?;
    options.check()?;
    if let Some(program) = &flags.cyber_access_program {
        tracing::warn!("no access program is asked for: `{program}` has no effect");
    }
    let (choice, task) = match stored {
        Some(choice) => {
            let task = task_for_stored(&choice, prompt, console)?;
            (choice, task)
        }
        None => plan(command, prompt, &flags, console)?,
    };
    let cwd = options.working_folder()?;
    let settings = flags.settings(settings, cwd.as_deref().unwrap_or(Path::new("/")))?;
    let settings = settings.overrides()?;
    exec(&options, cwd.as_deref(), settings, choice, task, console)
}

/// What `codex resume` and `codex fork` do with the thread.
fn task_for_stored(
    choice: &ThreadChoice,
    prompt: Option<String>,
    console: &mut Console<'_>,
) -> anyhow::Result<ExecTask> {
    if prompt.is_none() && io::stdin().is_terminal() {
        return Ok(ExecTask::Typed);
    }
    if let ThreadChoice::Resumed(StoredThread::Chosen { .. })
    | ThreadChoice::Forked(StoredThread::Chosen { .. }) = choice
        && !io::stdin().is_terminal()
    {
        bail!(
            "name a thread by its id or its name, or give --last; only on a terminal one can be chosen from a list"
        );
    }
    Ok(ExecTask::Prompt(read_prompt(prompt, console)?))
}

/// What the arguments ask for.
fn plan(
    command: Option<ExecCommand>,
    prompt: Option<String>,
    flags: &ExecFlags,
    console: &mut Console<'_>,
) -> anyhow::Result<(ThreadChoice, ExecTask)> {
    Ok(match command {
        Some(ExecCommand::Resume(resume)) => {
            let (stored, prompt) = resume.split();
            let task = ExecTask::Prompt(read_prompt(prompt, console)?);
            (ThreadChoice::Resumed(stored), task)
        }
        Some(ExecCommand::Fork(fork)) => {
            let task = match fork.prompt {
                Some(prompt) => ExecTask::Prompt(read_prompt(Some(prompt), console)?),
                None => ExecTask::None,
            };
            (ThreadChoice::Forked(StoredThread::Named(fork.thread)), task)
        }
        Some(ExecCommand::Review(review)) => {
            let task = ExecTask::Review(target_of(review, flags, console)?);
            (ThreadChoice::New, task)
        }
        None => {
            let task = ExecTask::Prompt(read_prompt(prompt, console)?);
            (ThreadChoice::New, task)
        }
    })
}

/// The review target for the server.
fn target_of(
    review: ReviewArguments,
    flags: &ExecFlags,
    console: &mut Console<'_>,
) -> anyhow::Result<Value> {
    if flags.output_schema.is_some() || !flags.images.is_empty() {
        bail!("a review takes no --output-schema and no --image; leave them out");
    }
    Ok(match review.target() {
        Some(target) => target,
        None => {
            let instructions = read_prompt(review.prompt, console)?;
            json!({ "type": "custom", "instructions": instructions })
        }
    })
}
