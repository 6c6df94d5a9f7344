//! Opens the thread of a turn without a UI: a new or a stored one, or a copy of that.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};
use codex_client::{Client, ClientThread, ThreadPlace, find_thread, last_thread, recent_threads};
use serde_json::{Map, Value, json};

use super::options::ExecOptions;

/// The thread of the turn.
#[derive(Debug)]
pub enum ThreadChoice {
    New,
    Resumed(StoredThread),
    /// A copy of a stored one.
    Forked(StoredThread),
}

#[derive(Debug)]
pub enum StoredThread {
    /// By its id or name.
    Named(String),
    /// The one that was changed last.
    Last { anywhere: bool },
    /// The one that the person at the terminal chooses.
    Chosen { anywhere: bool },
}

/// How many threads a person can choose from.
const CHOICES: usize = 20;

/// `config` are settings for a server that was started without them. Without a folder the server determines it.
pub(super) async fn open(
    mut client: Client,
    options: &ExecOptions,
    cwd: Option<&Path>,
    config: Map<String, Value>,
    environments: Option<Value>,
    choice: ThreadChoice,
) -> anyhow::Result<ClientThread> {
    let mut params = json!({});
    // With a reviewer the settings say what is asked about.
    if !options.has_reviewer {
        params["approvalPolicy"] = json!("never");
    }
    if let Some(cwd) = cwd {
        params["cwd"] = json!(cwd);
    }
    if !config.is_empty() {
        params["config"] = config.into();
    }
    if let Some(model) = &options.model {
        params["model"] = json!(model);
    }
    if let Some(mode) = options.sandbox_mode {
        params["sandbox"] = json!(mode);
    }
    if let (Some(source), ThreadChoice::New | ThreadChoice::Forked(_)) =
        (&options.thread_source, &choice)
    {
        params["threadSource"] = json!(source);
    }
    if options.is_ephemeral && !matches!(choice, ThreadChoice::Resumed(_)) {
        params["ephemeral"] = json!(true);
    }
    if let Some(environments) = environments {
        if !matches!(choice, ThreadChoice::New) {
            bail!("a stored thread stays where it works: leave --environment out");
        }
        params["environments"] = environments;
    }
    match choice {
        ThreadChoice::New => Ok(ClientThread::start(client, &params).await?),
        ThreadChoice::Resumed(stored) => {
            params["threadId"] = json!(id_of(&mut client, cwd, stored).await?);
            Ok(ClientThread::resume(client, &params).await?)
        }
        ThreadChoice::Forked(stored) => {
            params["threadId"] = json!(id_of(&mut client, cwd, stored).await?);
            Ok(ClientThread::fork(client, &params).await?)
        }
    }
}

async fn id_of(
    client: &mut Client,
    cwd: Option<&Path>,
    stored: StoredThread,
) -> anyhow::Result<String> {
    match stored {
        StoredThread::Named(name) => {
            let found = find_thread(client, &name, &[ThreadPlace::Active]).await?;
            let found = found.with_context(|| {
                format!(
                    "no thread has the id or the name `{name}`; \
                     `codex exec resume --last` goes on with the one of this folder that was changed last"
                )
            })?;
            Ok(found.id().to_owned())
        }
        StoredThread::Last { anywhere } => last(client, cwd.filter(|_| !anywhere)).await,
        StoredThread::Chosen { anywhere } => choose(client, cwd.filter(|_| !anywhere)).await,
    }
}

async fn last(client: &mut Client, folder: Option<&Path>) -> anyhow::Result<String> {
    let found = last_thread(client, folder).await?;
    found.with_context(|| no_thread_message(folder))
}

fn no_thread_message(folder: Option<&Path>) -> String {
    match folder {
        None => "there is no thread to resume yet".to_owned(),
        Some(folder) => format!(
            "no thread was started in {}; --all looks everywhere",
            folder.display()
        ),
    }
}

/// Lets the person at the terminal choose a thread.
async fn choose(client: &mut Client, folder: Option<&Path>) -> anyhow::Result<String> {
    let mut threads = recent_threads(client, folder, CHOICES).await?;
    if threads.is_empty() {
        bail!(no_thread_message(folder));
    }
    let mut out = io::stderr();
    for (index, thread) in threads.iter().enumerate() {
        writeln!(out, "{:>3}  {}  {}", index + 1, thread.id, thread.title)?;
    }
    loop {
        write!(out, "Number of the thread: ")?;
        out.flush()?;
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            io::stdin().read_line(&mut line).map(|_| line)
        });
        let line = line.await??;
        if line.is_empty() {
            bail!("no thread was chosen");
        }
        match line.trim().parse::<usize>() {
            Ok(number) if (1..=threads.len()).contains(&number) => {
                return Ok(threads.swap_remove(number - 1).id);
            }
            _ => writeln!(out, "A number from 1 to {}, please.", threads.len())?,
        }
    }
}
