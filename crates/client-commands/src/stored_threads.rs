//! Stored threads from a terminal, as a client of a server in this process, or of a running one.

use std::io::{self, Write};

use anyhow::{Context, bail};
use codex_client::{Client, FoundThread, ThreadPlace, find_thread, thread_title};
use codex_engine_host::host::HostPurpose;
use codex_protocol::ThreadId;
use serde_json::json;

use crate::server::{RunningServer, ServerChoice, call};

const ACTIVE_PLACE: &[ThreadPlace] = &[ThreadPlace::Active];
const ARCHIVED_PLACE: &[ThreadPlace] = &[ThreadPlace::Archived];
const ANY_PLACE: &[ThreadPlace] = &[ThreadPlace::Active, ThreadPlace::Archived];

/// Runs `act` with a client that has shaken hands.
fn with_client<T>(
    server: ServerChoice,
    act: impl AsyncFnOnce(&mut Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    server.run(async |mut client| {
        let version = env!("CARGO_PKG_VERSION");
        client.initialize("codex_threads", version).await?;
        let done = act(&mut client).await;
        client.finish().await;
        done
    })
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

/// Archives the active thread with an id or a name. Returns its id.
///
/// # Errors
/// There is no such thread, or the server refuses.
pub fn archive_thread(server: ServerChoice, thread: &str) -> anyhow::Result<String> {
    change(server, thread, ACTIVE_PLACE, "thread/archive")
}

/// Brings the archived thread with an id or a name back. Returns its id.
///
/// # Errors
/// There is no such thread, or the server refuses.
pub fn unarchive_thread(server: ServerChoice, thread: &str) -> anyhow::Result<String> {
    change(server, thread, ARCHIVED_PLACE, "thread/unarchive")
}

fn change(
    server: ServerChoice,
    thread: &str,
    places: &'static [ThreadPlace],
    method: &str,
) -> anyhow::Result<String> {
    with_client(server, async |client| {
        let found = find(client, thread, places).await?;
        call(client, method, &json!({ "threadId": found.id() })).await?;
        Ok(found.id().to_owned())
    })
}

/// Whether somebody is asked before a thread is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// The person at the terminal.
    Asked,
    /// Nobody. The thread has to be named by its id.
    Given,
}

/// Deletes a thread. Returns its id, or nothing if the person does not want it.
///
/// # Errors
/// There is no such thread, or the server refuses.
pub fn delete_thread(
    server: ServerChoice,
    thread: &str,
    confirmation: Confirmation,
) -> anyhow::Result<Option<String>> {
    if confirmation == Confirmation::Given && ThreadId::parse(thread).is_err() {
        bail!("--force needs the id of the thread, because another thread may have the same name");
    }
    with_client(server, async |client| {
        let found = find(client, thread, ANY_PLACE).await?;
        if confirmation == Confirmation::Asked && !is_sure(client, &found).await? {
            return Ok(None);
        }
        call(client, "thread/delete", &json!({ "threadId": found.id() })).await?;
        Ok(Some(found.id().to_owned()))
    })
}

async fn is_sure(client: &mut Client, found: &FoundThread) -> anyhow::Result<bool> {
    let id = found.id().to_owned();
    let title = match found {
        FoundThread::Named(thread) => thread.title.clone(),
        FoundThread::Id(id) => {
            let read = call(client, "thread/read", &json!({ "threadId": id })).await?;
            thread_title(&read["thread"])
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

/// A message that was queued.
#[derive(Debug)]
pub struct QueuedMessage {
    pub thread: String,
    /// Why the thread was not opened, if it was to be.
    pub resume_failure: Option<anyhow::Error>,
}

/// Queues a message for a thread, and with `resumes` has a running server open it: the one that is used, or else that in
/// the background.
///
/// # Errors
/// There is no such thread, or the message is empty.
pub fn queue_message(
    server: ServerChoice,
    thread: &str,
    message: &str,
    resumes: bool,
) -> anyhow::Result<QueuedMessage> {
    if message.trim().is_empty() {
        bail!("the message is empty");
    }
    let is_running = server.running.is_some();
    let in_background = ServerChoice {
        running: Some(RunningServer::in_background()),
        settings: server.settings.clone(),
        scenario: None,
        purpose: HostPurpose::Clients,
    };
    let (id, mut resumed) = with_client(server, async |client| {
        let found = find(client, thread, ACTIVE_PLACE).await?;
        let id = found.id().to_owned();
        let now = jiff::Timestamp::now().as_nanosecond();
        let params = json!({
            "threadId": id,
            "clientUserMessageId": format!("queue-{}-{now}", std::process::id()),
            "input": [{ "type": "text", "text": message }],
        });
        call(client, "thread/queue/add", &params).await?;
        let resumed = if resumes && is_running {
            resume(client, &id).await
        } else {
            Ok(())
        };
        Ok((id, resumed))
    })?;
    if resumes && !is_running {
        resumed = with_client(in_background, async |client| resume(client, &id).await);
    }
    Ok(QueuedMessage {
        thread: id,
        resume_failure: resumed.err(),
    })
}

async fn resume(client: &mut Client, id: &str) -> anyhow::Result<()> {
    let params = json!({ "threadId": id, "excludeTurns": true });
    call(client, "thread/resume", &params).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use codex_config::Overrides;

    use super::*;

    #[test]
    fn senseless_thread_commands_are_refused_without_a_server() {
        let server = || ServerChoice::here(Overrides::default());
        let error = queue_message(server(), "name", " \n", false).unwrap_err();
        assert_eq!(error.to_string(), "the message is empty");
        let error = delete_thread(server(), "name", Confirmation::Given).unwrap_err();
        assert!(error.to_string().starts_with("--force needs the id"));
    }
}
