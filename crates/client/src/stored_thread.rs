//! Finds stored threads on a server, by id, by name, or by when they were used.

use std::path::Path;

use codex_protocol::ThreadId;
use serde_json::{Value, json};

use crate::client::{Client, ClientError};

/// The source kinds of threads that are not agents.
const KINDS: [&str; 4] = ["cli", "vscode", "exec", "appServer"];

/// The maximum page size of the server.
const PAGE: usize = 100;

/// Which threads are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadPlace {
    /// Those that are in use.
    Active,
    /// Those that were put away.
    Archived,
}

/// A thread that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundThread {
    /// The text is an id, whether or not there is such a thread.
    Id(String),
    /// A thread has this name.
    Named(ListedThread),
}

/// A thread of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedThread {
    /// Its id.
    pub id: String,
    /// Its name, or else how it begins.
    pub title: String,
}

impl FoundThread {
    /// The id of the thread.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Id(id) => id,
            Self::Named(thread) => &thread.id,
        }
    }
}

/// The thread with this id, or else the one with this name that was changed last.
///
/// # Errors
/// The server refuses or goes away.
pub async fn find_thread(
    client: &mut Client,
    wanted: &str,
    places: &[ThreadPlace],
) -> Result<Option<FoundThread>, ClientError> {
    if ThreadId::parse(wanted).is_ok() {
        return Ok(Some(FoundThread::Id(wanted.to_owned())));
    }
    for place in places {
        let mut params = listing(PAGE);
        params["archived"] = json!(*place == ThreadPlace::Archived);
        loop {
            let page = client.call("thread/list", &params).await?;
            let mut threads = page["data"].as_array().into_iter().flatten();
            let found = threads.find(|thread| thread["name"] == wanted);
            if let Some(thread) = found.and_then(listed) {
                return Ok(Some(FoundThread::Named(thread)));
            }
            if page["nextCursor"].is_null() {
                break;
            }
            params["cursor"] = page["nextCursor"].clone();
        }
    }
    Ok(None)
}

/// The thread that was changed last, of a folder or of all.
///
/// # Errors
/// The server refuses or goes away.
pub async fn last_thread(
    client: &mut Client,
    folder: Option<&Path>,
) -> Result<Option<String>, ClientError> {
    let threads = recent_threads(client, folder, 1).await?;
    Ok(threads.into_iter().next().map(|thread| thread.id))
}

/// The threads that were changed last, of a folder or of all, the newest first.
///
/// # Errors
/// The server refuses or goes away.
pub async fn recent_threads(
    client: &mut Client,
    folder: Option<&Path>,
    count: usize,
) -> Result<Vec<ListedThread>, ClientError> {
    let mut params = listing(count.min(PAGE));
    if let Some(folder) = folder {
        params["cwd"] = json!(folder);
    }
    let page = client.call("thread/list", &params).await?;
    let threads = page["data"].as_array().into_iter().flatten();
    Ok(threads.filter_map(listed).collect())
}

fn listed(thread: &Value) -> Option<ListedThread> {
    let id = thread["id"].as_str()?.to_owned();
    let title = thread_title(thread);
    Some(ListedThread { id, title })
}

/// The name of a thread on the wire, or how it begins, as one line for a terminal.
#[must_use]
pub fn thread_title(thread: &Value) -> String {
    let name = thread["name"].as_str().filter(|name| !name.is_empty());
    let title = name.or_else(|| thread["preview"].as_str());
    let title = crate::text::harmless(title.unwrap_or_default());
    let first = title.lines().next().unwrap_or_default().trim();
    first.chars().take(80).collect()
}

/// The parameters for a page of threads of any provider, most recently changed first.
fn listing(limit: usize) -> Value {
    json!({ "limit": limit, "sortKey": "updated_at", "sourceKinds": KINDS, "modelProviders": [] })
}
