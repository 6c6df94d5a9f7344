//! `codex archive`, `unarchive`, `delete` and `queue`: stored threads from a terminal.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use codex_client_commands::{
    Confirmation, ServerChoice, archive_thread, delete_thread, queue_message, unarchive_thread,
};

use crate::global_flags::GlobalFlags;
use crate::print::{answer, note};
use crate::remote_flags::RemoteFlags;
use crate::settings_flags::SettingsFlags;

#[derive(Debug, Args)]
pub(crate) struct ThreadArguments {
    /// The id or the name of the thread.
    #[arg(value_name = "THREAD")]
    thread: String,
    /// The same as before the subcommand.
    #[command(flatten)]
    pub(crate) flags: GlobalFlags,
}

#[derive(Debug, Args)]
#[command(after_help = "\
On a terminal it asks before it deletes. Elsewhere --force is needed, and the id.\n\n\
Exit status: 0 deleted, 1 not.")]
pub(crate) struct DeleteArguments {
    #[command(flatten)]
    pub(crate) thread: ThreadArguments,
    /// Delete without asking. The thread has to be named by its id.
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The message is stored and sent as soon as the thread is loaded and idle: after its turn if it runs, otherwise when a \
server opens it.\n\n\
Example:\n  codex queue --thread 0196f1c2-7f04-7d63-9f40-5b1f0d6b0f1e --message \"Then run the tests.\"")]
pub(crate) struct QueueArguments {
    /// The id or the name of the thread.
    #[arg(long, value_name = "THREAD")]
    thread: String,
    /// The message.
    #[arg(long, value_name = "TEXT")]
    message: String,
    /// Then have the background server, or the one of --remote, load the thread. A failure is only a warning.
    #[arg(long)]
    resume: bool,
    /// The working folder.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The profile to use: a table of config.toml, or the file NAME.config.toml beside it.
    #[arg(short, long, value_name = "NAME")]
    profile: Option<String>,
    #[command(flatten)]
    pub(crate) remote: RemoteFlags,
}

impl QueueArguments {
    /// The flags that are those before the subcommand as well.
    pub(crate) fn take_flags(&mut self) -> GlobalFlags {
        let (cwd, profile) = (self.cwd.take(), self.profile.take());
        GlobalFlags::of_place(cwd, profile, std::mem::take(&mut self.remote))
    }
}

/// The server in which a command finds its thread.
fn server(remote: &RemoteFlags, settings: &SettingsFlags) -> anyhow::Result<ServerChoice> {
    Ok(ServerChoice {
        running: remote.server()?,
        ..ServerChoice::here(settings.overrides()?)
    })
}

pub(crate) fn archive(
    arguments: &ThreadArguments,
    settings: &SettingsFlags,
) -> anyhow::Result<ExitCode> {
    let id = archive_thread(
        server(&arguments.flags.remote, settings)?,
        &arguments.thread,
    )?;
    answer(format_args!(
        "Archived the thread {id}. `codex unarchive {id}` brings it back."
    ));
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn unarchive(
    arguments: &ThreadArguments,
    settings: &SettingsFlags,
) -> anyhow::Result<ExitCode> {
    let id = unarchive_thread(
        server(&arguments.flags.remote, settings)?,
        &arguments.thread,
    )?;
    answer(format_args!("The thread {id} is active again."));
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn delete(
    arguments: &DeleteArguments,
    settings: &SettingsFlags,
) -> anyhow::Result<ExitCode> {
    let ThreadArguments { thread, flags } = &arguments.thread;
    let confirmation = if arguments.force {
        Confirmation::Given
    } else if io::stdin().is_terminal() {
        Confirmation::Asked
    } else {
        bail!(
            "nobody can be asked here; --force deletes the thread with the given id without asking"
        );
    };
    match delete_thread(server(&flags.remote, settings)?, thread, confirmation)? {
        Some(id) => {
            answer(format_args!("Deleted the thread {id}."));
            Ok(ExitCode::SUCCESS)
        }
        None => {
            answer("Nothing was deleted.");
            Ok(ExitCode::FAILURE)
        }
    }
}

pub(crate) fn queue(
    arguments: &QueueArguments,
    settings: &SettingsFlags,
) -> anyhow::Result<ExitCode> {
    let QueueArguments {
        thread,
        message,
        resume,
        ..
    } = arguments;
    let server = server(&arguments.remote, settings)?;
    let queued = queue_message(server, thread, message, *resume)?;
    if let Some(error) = queued.resume_failure {
        note(format_args!(
            "warning: the message is queued, but the thread was not opened: {error:#}"
        ));
    }
    answer(format_args!(
        "Queued the message for the thread {}.",
        queued.thread
    ));
    Ok(ExitCode::SUCCESS)
}
