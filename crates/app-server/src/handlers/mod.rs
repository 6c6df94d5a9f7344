//! The handlers, a file a family.
//!
//! A handler owns the [`Responder`](crate::connection::Responder) of its request and uses it once. It runs in a task of its own; if
//! it panics, the request is still replied to.

mod account;
mod command_exec;
mod config;
mod dispatch;
mod extensions;
mod external_agent;
mod features;
mod feedback;
mod fork_cut;
mod fs;
mod fs_watch;
mod fuzzy_search;
mod git;
mod handshake;
mod hooks;
mod mcp_servers;
mod models;
mod paging;
mod permissions;
mod review;
mod settings;
mod skills;
pub(crate) mod stored;
mod thread_archive;
mod thread_control;
mod thread_items;
mod thread_list;
mod thread_metadata;
mod thread_open;
mod thread_read;
mod thread_turns;
mod turns;
mod windows;

use std::path::{Path, PathBuf};

use codex_app_server_protocol::ClientRequest;
use codex_protocol::ThreadId;
use codex_rollout::LoadError;

use crate::failure::Failure;
use crate::server::Server;
use crate::thread::{History, ThreadHandle, read_history};

pub(crate) use command_exec::start as start_command;
pub(crate) use dispatch::handle;
pub(crate) use fuzzy_search::search as start_search;
pub(crate) use handshake::initialize;
pub(crate) use permissions::built_in_sandbox;
pub(crate) use thread_turns::first_page;

/// What a request is about, if it is one whose requests are carried out in their order: a thread, the
/// input of a process, a search, a watch.
pub(crate) fn subject_of(request: &ClientRequest) -> Option<&str> {
    Some(match request {
        ClientRequest::CommandExecWrite(params) => &params.process_id,
        ClientRequest::FuzzyFileSearchSessionStart(params) => &params.session_id,
        ClientRequest::FuzzyFileSearchSessionUpdate(params) => &params.session_id,
        ClientRequest::FuzzyFileSearchSessionStop(params) => &params.session_id,
        ClientRequest::FsWatch(params) => return params.watch_id.as_deref(),
        ClientRequest::FsUnwatch(params) => &params.watch_id,
        ClientRequest::ThreadResume(params) => &params.thread_id,
        ClientRequest::ThreadFork(params) => &params.thread_id,
        ClientRequest::ThreadRead(params) => &params.thread_id,
        ClientRequest::ThreadArchive(params) => &params.thread_id,
        ClientRequest::ThreadUnarchive(params) => &params.thread_id,
        ClientRequest::ThreadDelete(params) => &params.thread_id,
        ClientRequest::ThreadSetName(params) => &params.thread_id,
        ClientRequest::ThreadMetadataUpdate(params) => &params.thread_id,
        ClientRequest::ThreadTurnsList(params) => &params.thread_id,
        ClientRequest::ThreadItemsList(params) => &params.thread_id,
        ClientRequest::ThreadSettingsUpdate(params) => &params.thread_id,
        ClientRequest::ThreadInjectItems(params) => &params.thread_id,
        ClientRequest::ThreadBackgroundTerminalsList(params) => &params.thread_id,
        ClientRequest::ThreadBackgroundTerminalsTerminate(params) => &params.thread_id,
        ClientRequest::ThreadUnsubscribe(params) => &params.thread_id,
        ClientRequest::ThreadRollback(params) => &params.thread_id,
        ClientRequest::ThreadCompactStart(params) => &params.thread_id,
        ClientRequest::ThreadShellCommand(params) => &params.thread_id,
        ClientRequest::ThreadBackgroundTerminalsClean(params) => &params.thread_id,
        ClientRequest::ThreadIncrementElicitation(params) => &params.thread_id,
        ClientRequest::ThreadDecrementElicitation(params) => &params.thread_id,
        ClientRequest::TurnStart(params) => &params.thread_id,
        ClientRequest::TurnSteer(params) => &params.thread_id,
        ClientRequest::TurnInterrupt(params) => &params.thread_id,
        ClientRequest::ReviewStart(params) => &params.thread_id,
        _ => return None,
    })
}

/// The id of a thread, as a client wrote it.
fn thread_id(text: &str) -> Result<ThreadId, Failure> {
    ThreadId::parse(text).map_err(|error| Failure::invalid(error.to_string()))
}

/// A thread that has to be loaded.
fn loaded_thread(server: &Server, id: &str) -> Result<ThreadHandle, Failure> {
    let id = thread_id(id)?;
    let missing = || Failure::invalid(format!("thread not found: {id}"));
    server.thread(id.as_str()).ok_or_else(missing)
}

/// The engine behind a thread that has to be loaded.
async fn engine(server: &Server, id: &str) -> Result<codex_core::Thread, Failure> {
    let missing = || Failure::invalid(format!("thread not found: {id}"));
    loaded_thread(server, id)?
        .engine()
        .await
        .ok_or_else(missing)
}

/// Runs what reads files where it holds nobody up.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let outcome = tokio::task::spawn_blocking(work).await;
    outcome.unwrap_or_else(|_| Err(Failure::internal("the server failed to read its files")))
}

/// Reads the file of a thread.
pub(crate) async fn load(path: PathBuf) -> Result<(PathBuf, History), Failure> {
    blocking(move || match read_history(&path) {
        Ok(history) => Ok((path, history)),
        Err(error) => Err(unreadable(&path, &error)),
    })
    .await
}

fn unreadable(path: &Path, error: &LoadError) -> Failure {
    let path = path.display();
    Failure::invalid(format!("failed to load rollout `{path}`: {error}"))
}
