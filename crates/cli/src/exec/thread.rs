//! Opens the thread of `codex exec`: a new or a stored one, or a copy of that.

use std::path::Path;

use anyhow::bail;
use codex_client::{Client, ClientThread};
use codex_protocol::ThreadId;
use serde_json::{Value, json};

use super::arguments::{ExecOptions, StoredThread, ThreadChoice};

/// The source kinds of threads that are not agents.
const KINDS: [&str; 4] = ["cli", "vscode", "exec", "appServer"];

/// The maximum page size of the server.
const PAGE: usize = 100;

pub(super) async fn open(
    mut client: Client,
    options: &ExecOptions,
    cwd: &Path,
    choice: ThreadChoice,
) -> anyhow::Result<ClientThread> {
    let mut params = json!({ "cwd": cwd, "approvalPolicy": "never" });
    if let Some(model) = &options.model {
        params["model"] = json!(model);
    }
    if let Some(mode) = options.sandbox_mode() {
        params["sandbox"] = json!(mode);
    }
    if let (Some(source), ThreadChoice::New | ThreadChoice::Forked(_)) =
        (&options.thread_source, &choice)
    {
        params["threadSource"] = json!(source);
    }
    if options.ephemeral && !matches!(choice, ThreadChoice::Resumed(_)) {
        params["ephemeral"] = json!(true);
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

async fn id_of(client: &mut Client, cwd: &Path, stored: StoredThread) -> anyhow::Result<String> {
    match stored {
        StoredThread::Named(id) if ThreadId::parse(&id).is_ok() => Ok(id),
        StoredThread::Named(name) => named(client, &name).await,
        StoredThread::Last { anywhere } => last(client, cwd, anywhere).await,
    }
}

/// The most recently changed thread with this name.
async fn named(client: &mut Client, name: &str) -> anyhow::Result<String> {
    let mut params = listing(PAGE);
    loop {
        let page = client.call("thread/list", &params).await?;
        let mut threads = page["data"].as_array().into_iter().flatten();
        let found = threads.find(|thread| thread["name"] == name);
        if let Some(id) = found.and_then(|thread| thread["id"].as_str()) {
            return Ok(id.to_owned());
        }
        if page["nextCursor"].is_null() {
            bail!(
                "no thread has the id or the name `{name}`; \
                 `codex exec resume --last` goes on with the one of this folder that was changed last"
            );
        }
        params["cursor"] = page["nextCursor"].clone();
    }
}

async fn last(client: &mut Client, cwd: &Path, anywhere: bool) -> anyhow::Result<String> {
    let mut params = listing(1);
    if !anywhere {
        params["cwd"] = json!(cwd);
    }
    let threads = client.call("thread/list", &params).await?;
    match threads["data"][0]["id"].as_str() {
        Some(id) => Ok(id.to_owned()),
        None if anywhere => bail!("there is no thread to resume yet"),
        None => bail!(
            "no thread was started in {}; --all looks everywhere",
            cwd.display()
        ),
    }
}

/// The parameters for a page of threads of any provider, most recently changed first.
fn listing(limit: usize) -> Value {
    json!({ "limit": limit, "sortKey": "updated_at", "sourceKinds": KINDS, "modelProviders": [] })
}
