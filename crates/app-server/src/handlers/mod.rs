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
mod realtime_list;
mod remote_control;
mod remote_plugins;
mod review;
mod search_occurrences;
mod server_facts;
mod settings;
mod skills;
mod table;
mod thread_archive;
mod thread_attachments;
mod thread_checkpoints;
mod thread_compaction;
mod thread_context;
mod thread_control;
mod thread_fork;
mod thread_goals;
mod thread_items;
mod thread_list;
mod thread_metadata;
mod thread_open;
mod thread_pins;
mod thread_queue;
mod thread_read;
mod thread_read_state;
mod thread_resume;
mod thread_revert;
mod thread_sample;
mod thread_search;
mod thread_sections;
mod thread_settings;
mod thread_start;
mod thread_timeline;
mod thread_turns;
mod turn_continue;
mod turn_interrupt;
mod turn_settings;
mod turn_start;
mod turn_steer;
mod windows;

use codex_protocol::ThreadId;
use futures::FutureExt as _;

use crate::blocking::blocking;
use crate::connection::Connection;
use crate::failure::{Failure, state_failed};
use crate::server::AppServer;
use crate::thread::stored::load::{load, unreadable};
use crate::thread::stored::{record as stored, turns as stored_turns};
use crate::thread::{Snapshot, ThreadHandle};

pub(crate) use call::{Order, RequestContext};
pub(crate) use table::{handle, order_of};
pub(crate) use thread_search::register as register_search;

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
    let engine = loaded_thread(server, id)?.engine().await;
    engine.map_err(|_| Failure::invalid(format!("thread not found: {id}")))
}

/// The state of a loaded thread.
async fn snapshot(server: &AppServer, id: &str) -> Result<Snapshot, Failure> {
    let snapshot = loaded_thread(server, id)?.describe().await;
    snapshot.ok_or_else(|| Failure::invalid(format!("thread not found: {id}")))
}

/// Waits until what was recorded last can be read from the file of a thread, so that a reply is true after a kill.
async fn flush(engine: &codex_core::Thread) {
    if let Err(error) = engine.flush().await {
        tracing::warn!(%error, "what a client was told is not stored yet");
    }
}

/// Creates the file of a loaded thread that has none yet, so that it can be moved or resumed. For some clients, only a
/// turn does that.
async fn store_loaded(
    server: &AppServer,
    connection: &Connection,
    id: &str,
) -> Result<(), Failure> {
    if !connection.dialect().stores_threads_without_turns() {
        return Ok(());
    }
    create_file(server, connection, id).await
}

/// Creates the file of a loaded thread that has none yet, so that a later process finds it.
async fn create_file(server: &AppServer, connection: &Connection, id: &str) -> Result<(), Failure> {
    let Ok(thread) = engine(server, id).await else {
        return Ok(());
    };
    let stored = thread.store().await;
    stored.map_err(|error| Failure::internal(format!("failed to store thread: {error}")))?;
    if let Some(path) = thread.rollout_path() {
        server.host().store().touched(path);
    }
    if connection.dialect().keeps_settings()
        && let Ok(thread) = loaded_thread(server, id)
    {
        let store = thread.call(|thread| thread.store_first_settings().boxed());
        let _ = store.await;
    }
    Ok(())
}
