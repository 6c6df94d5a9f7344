//! `codex archive`, `unarchive`, `delete` and `queue`: stored threads from a terminal. They are clients of a server in
//! this process, or of a running one.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use codex_client::{Client, FoundThread, ThreadPlace, find_thread};
use codex_protocol::ThreadId;
use serde_json::{Value, json};

use crate::client_call::call;
use crate::connected_server;
use crate::global_flags::GlobalFlags;
use crate::print::{note, output};
use crate::remote_flags::RemoteFlags;
use crate::settings_flags::SettingsFlags;
use codex_engine_host::host::HostPurpose;

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
    /// Then let the server in the background, or that of --remote, open the thread. A failure is only a warning.
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

const ACTIVE: &[ThreadPlace] = &[ThreadPlace::Active];
const ARCHIVED: &[ThreadPlace] = &[ThreadPlace::Archived];
const ANY: &[ThreadPlace] = &[ThreadPlace::Active, ThreadPlace::Archived];

/// Runs `act` with a client that has shaken hands.
fn with_client<T>(
    remote: &RemoteFlags,
    settings: &SettingsFlags,
    act: impl AsyncFnOnce(&mut Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    connected_server::run(
        remote,
        settings,
        None,
        HostPurpose::Clients,
        async |mut client| {
            let version = env!("CARGO_PKG_VERSION");
            client.initialize("codex_threads", version).await?;
            let done = act(&mut client).await;
            client.finish().await;
            done
        },
    )
}

async fn find(
    client: &mut Client,
    wanted: &str,
    places: &'static [ThreadPlace],
) -> anyhow::Result<FoundThread> {
    let kind = match places {
        [ThreadPlace::Active] => "active thread",
        [ThreadPlace::Archived] => "archived thread",
        _ => "thread",
    };
    let found = find_thread(client, wanted, places).await?;
    found.with_context(|| format!("no {kind} has the id or the name `{wanted}`"))
}

pub(crate) fn archive(
    arguments: &ThreadArguments,
    settings: &SettingsFlags,
) -> anyhow::Result<ExitCode> {
    let id = with_client(&arguments.flags.remote, settings, async |client| {
        let found = find(client, &arguments.thread, ACTIVE).await?;
        call(client, "thread/archive", &json!({ "threadId": found.id() })).await?;
        Ok(found.id().to_owned())
    })?;
    say(&format!(
        "Archived the thread {id}. `codex unarchive {id}` brings it back."
    ))
}

pub(crate) fn unarchive(
    arguments: &ThreadArguments,
    settings: &SettingsFlags,
) -> anyhow::Result<ExitCode> {
    let id = with_client(&arguments.flags.remote, settings, async |client| {
        let found = find(client, &arguments.thread, ARCHIVED).await?;
        call(
            client,
            "thread/unarchive",
            &json!({ "threadId": found.id() }),
        )
        .await?;
        Ok(found.id().to_owned())
    })?;
    say(&format!("The thread {id} is active again."))
}

pub(crate) fn delete(
    arguments: &DeleteArguments,
    settings: &SettingsFlags,
) -> anyhow::Result<ExitCode> {
    let wanted = &arguments.thread.thread;
    if arguments.force && ThreadId::parse(wanted).is_err() {
        bail!("--force needs the id of the thread, because another thread may have the same name");
    }
    if !arguments.force && !io::stdin().is_terminal() {
        bail!(
            "nobody can be asked here; --force deletes the thread with the given id without asking"
        );
    }
    let deleted = with_client(&arguments.thread.flags.remote, settings, async |client| {
        let found = find(client, wanted, ANY).await?;
        if !arguments.force && !is_sure(client, &found).await? {
            return Ok(None);
        }
        call(client, "thread/delete", &json!({ "threadId": found.id() })).await?;
        Ok(Some(found.id().to_owned()))
    })?;
    match deleted {
        Some(id) => say(&format!("Deleted the thread {id}.")),
        None => {
            say("Nothing was deleted.")?;
            Ok(ExitCode::FAILURE)
        }
    }
}

async fn is_sure(client: &mut Client, found: &FoundThread) -> anyhow::Result<bool> {
    let id = found.id().to_owned();
    let title = match found {
        FoundThread::Named(thread) => thread.title.clone(),
        FoundThread::Id(id) => {
            let read = call(client, "thread/read", &json!({ "threadId": id })).await?;
            title(&read["thread"])
        }
    };
    let asking = tokio::task::spawn_blocking(move || {
        let mut out = io::stderr();
        write!(out, "Delete the thread {id} ({title}) for good? [y/N] ")?;
        out.flush()?;
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    let line = asking.await??;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

fn title(thread: &Value) -> String {
    let name = thread["name"].as_str().filter(|name| !name.is_empty());
    let title = name.or_else(|| thread["preview"].as_str());
    let title = codex_client::harmless(title.unwrap_or_default());
    let first = title.lines().next().unwrap_or_default();
    first.chars().take(80).collect()
}

pub(crate) fn queue(
    arguments: &QueueArguments,
    settings: &SettingsFlags,
) -> anyhow::Result<ExitCode> {
    if arguments.message.trim().is_empty() {
        bail!("the message is empty");
    }
    let id = with_client(&arguments.remote, settings, async |client| {
        let found = find(client, &arguments.thread, ACTIVE).await?;
        let id = found.id().to_owned();
        let now = jiff::Timestamp::now().as_nanosecond();
        let params = json!({
            "threadId": id,
            "clientUserMessageId": format!("queue-{}-{now}", std::process::id()),
            "input": [{ "type": "text", "text": arguments.message }],
        });
        call(client, "thread/queue/add", &params).await?;
        if arguments.resume && arguments.remote.are_given() {
            note_failure(resume(client, &id).await);
        }
        Ok(id)
    })?;
    if arguments.resume && !arguments.remote.are_given() {
        let resumed = with_client(&RemoteFlags::home_socket(), settings, async |client| {
            resume(client, &id).await
        });
        note_failure(resumed);
    }
    say(&format!("Queued the message for the thread {id}."))
}

async fn resume(client: &mut Client, id: &str) -> anyhow::Result<()> {
    let params = json!({ "threadId": id, "excludeTurns": true });
    call(client, "thread/resume", &params).await?;
    Ok(())
}

/// For people, beside the output.
fn note_failure(resumed: anyhow::Result<()>) {
    if let Err(error) = resumed {
        note(format_args!(
            "warning: the message is queued, but the thread was not opened: {error:#}"
        ));
    }
}

fn say(text: &str) -> anyhow::Result<ExitCode> {
    writeln!(output(), "{text}")?;
    Ok(ExitCode::SUCCESS)
}
