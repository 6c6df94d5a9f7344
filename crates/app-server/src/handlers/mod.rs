//! The handlers, one file per family of methods. [`table`] has the handler and the order of each method; [`call`]
//! describes the interface of a handler.

mod account;
mod account_extras;
mod account_requirements;
mod app_lists;
mod apps;
mod call;
mod command_exec;
mod config;
mod dynamic_tools;
mod environments;
mod extensions;
mod external_agent;
mod features;
mod feedback;
mod fork_cut;
mod fs;
mod fs_watch;
mod fuzzy_search;
mod git;
mod guardian;
mod handshake;
mod hooks;
mod marketplace_copies;
mod marketplace_updates;
mod marketplaces;
mod mcp_direct;
mod mcp_servers;
mod memories;
mod model_providers;
mod models;
mod paging;
mod permissions;
mod plugin_apps;
mod plugin_folder;
mod plugin_install;
mod plugin_settings;
mod plugin_share;
mod plugin_skill;
mod plugin_sync;
mod plugin_view;
mod plugins;
mod processes;
mod projects;
mod realtime;
mod remote_control;
mod remote_plugins;
mod review;
mod search_occurrences;
mod server_facts;
mod settings;
mod skills;
pub(crate) mod stored;
mod stored_turns;
mod table;
mod thread_archive;
mod thread_attachments;
mod thread_checkpoints;
mod thread_control;
mod thread_fork;
mod thread_goals;
mod thread_items;
mod thread_list;
mod thread_metadata;
mod thread_open;
mod thread_queue;
mod thread_read;
mod thread_read_state;
mod thread_resume;
mod thread_revert;
mod thread_sample;
mod thread_search;
mod thread_sections;
mod thread_start;
mod thread_timeline;
mod thread_turns;
mod turns;
mod windows;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_protocol::ThreadId;
use codex_rollout::RolloutLoadError;
use codex_thread_state::StateError;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::projection::ItemIds;
use crate::server::AppServer;
use crate::thread::{StoredHistory, ThreadHandle, ids_in, read_history};

pub(crate) use call::{Order, RequestContext};
pub(crate) use environments::{check_absolute, check_environments};
pub(crate) use permissions::{named_sandbox, requested_sandbox};
pub(crate) use table::{handle, order_of};
pub(crate) use thread_checkpoints::{checkpoint_failure, request_of, response_of};
pub(crate) use thread_metadata::amend;
pub(crate) use thread_open::show_usage;
pub(crate) use thread_queue::queue_changed;
pub(crate) use thread_revert::newest_cursors;
pub(crate) use thread_turns::first_page;

/// Parses a thread id.
fn thread_id(text: &str) -> Result<ThreadId, Failure> {
    ThreadId::parse(text).map_err(|error| Failure::invalid(error.to_string()))
}

/// The error for a thread that is archived.
fn archived(id: &ThreadId) -> Failure {
    Failure::invalid(format!("thread {id} is archived"))
}

/// A loaded thread; an error if it is not loaded.
fn loaded_thread(server: &AppServer, id: &str) -> Result<ThreadHandle, Failure> {
    let id = thread_id(id)?;
    let missing = || Failure::invalid(format!("thread not found: {id}"));
    server.thread(id.as_str()).ok_or_else(missing)
}

/// A loaded thread to which clients may give input.
fn input_thread(server: &AppServer, id: &str) -> Result<ThreadHandle, Failure> {
    let thread = loaded_thread(server, id)?;
    if !thread.takes_input() {
        let refusal = "direct app-server input is not allowed for multi-agent v2 sub-agents";
        return Err(Failure::invalid(refusal));
    }
    Ok(thread)
}

/// The engine's handle of a loaded thread.
async fn engine(server: &AppServer, id: &str) -> Result<codex_core::Thread, Failure> {
    let missing = || Failure::invalid(format!("thread not found: {id}"));
    loaded_thread(server, id)?
        .engine()
        .await
        .ok_or_else(missing)
}

/// Creates the file of a loaded thread that has none yet, so that it can be moved or resumed. For older clients, only a
/// turn does that.
async fn store_loaded(
    server: &AppServer,
    connection: &Connection,
    id: &str,
) -> Result<(), Failure> {
    if !connection.dialect().stores_threads_without_turns() {
        return Ok(());
    }
    let Ok(thread) = engine(server, id).await else {
        return Ok(());
    };
    let stored = thread.store().await;
    stored.map_err(|error| Failure::internal(format!("failed to store thread: {error}")))?;
    if let Some(path) = thread.rollout_path() {
        server.host().store().touched(path);
    }
    Ok(())
}

/// The state of threads could not be read or written.
pub(crate) fn state_failed(error: StateError) -> Failure {
    Failure::internal(error.to_string())
}

/// Runs blocking work in a blocking task.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let outcome = tokio::task::spawn_blocking(work).await;
    outcome.unwrap_or_else(|_| Err(Failure::internal("the server failed to read its files")))
}

/// Reads the file of a thread. `running` is the id of the turn that runs.
pub(crate) async fn load(
    server: &Arc<AppServer>,
    path: PathBuf,
    ids: ItemIds,
    running: Option<String>,
) -> Result<(PathBuf, StoredHistory), Failure> {
    let server = Arc::clone(server);
    blocking(move || {
        let ids = ids_in(&path, ids);
        let history = read_history(&path, ids, running.as_deref(), server.outlines());
        let history = history.map_err(|error| unreadable(&path, &error))?;
        Ok((path, history))
    })
    .await
}

fn unreadable(path: &Path, error: &RolloutLoadError) -> Failure {
    let path = path.display();
    Failure::invalid(format!("failed to load rollout `{path}`: {error}"))
}
