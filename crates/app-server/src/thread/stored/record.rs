//! Converts stored threads from the index to the wire.

use std::sync::Arc;

use codex_app_server_protocol::v2::{GitInfo, Thread, ThreadStatus};
use codex_projection::{wire_section, wire_source};
use codex_protocol::ThreadId;
use codex_thread_state::{StateError, ThreadState};
use codex_thread_store::ThreadRecord;
use serde_json::Value;

use crate::blocking::blocking;
use crate::failure::{Failure, state_failed};
use crate::server::AppServer;
use crate::thread::{Snapshot, history_mode};

/// A stored thread, without turns.
pub(crate) fn thread(record: ThreadRecord, status: ThreadStatus, provider: &str) -> Thread {
    let parent = record.facts.parent().map(ToString::to_string);
    let attached_to = record.facts.attached_to().map(ToString::to_string);
    let facts = record.facts;
    let effort = facts.effort.map(Value::String);
    Thread {
        session_id: Some(record.id.0.clone()),
        forked_from_id: facts.forked_from.as_ref().map(ToString::to_string),
        model: facts.model,
        attached_to_thread_id: attached_to,
        project_id: None,
        section: None,
        section_entered_at: None,
        originator: facts.originator,
        extra: None,
        daybreak_enabled: None,
        parent_thread_id: parent,
        thread_source: None,
        history_mode: Some(history_mode(facts.has_legacy_history)),
        reasoning_effort: effort.and_then(|effort| serde_json::from_value(effort).ok()),
        environments: None,
        can_accept_direct_input: None,
        recency_at: Some(record.updated_at),
        id: record.id.0,
        preview: facts.preview.unwrap_or_default(),
        ephemeral: false,
        model_provider: facts.provider.unwrap_or_else(|| provider.to_owned()),
        created_at: facts.created_at,
        updated_at: record.updated_at,
        status,
        path: Some(record.path.display().to_string()),
        cwd: facts.cwd,
        cli_version: facts.cli_version,
        source: wire_source(facts.source),
        agent_nickname: facts.nickname,
        agent_role: facts.role,
        git_info: facts.git.and_then(git_info),
        name: record.name,
        turns: Vec::new(),
    }
}

/// Like `thread`, with the current working folder, and the default provider if the record has none.
pub(crate) async fn shown(
    server: &Arc<AppServer>,
    mut record: ThreadRecord,
    status: ThreadStatus,
) -> Result<Thread, Failure> {
    if let Some(changed) = record.facts.changed_cwd.take() {
        record.facts.cwd = changed;
    }
    let provider = match record.facts.provider {
        Some(_) => String::new(),
        None => default_provider(server),
    };
    Ok(thread(record, status, &provider))
}

/// Git information; none if it is empty.
pub(crate) fn git_info(git: codex_protocol::GitInfo) -> Option<GitInfo> {
    let is_known = git != codex_protocol::GitInfo::default();
    is_known.then_some(GitInfo {
        sha: git.commit_hash,
        branch: git.branch,
        origin_url: git.repository_url,
    })
}

/// The record of a thread that has a file.
pub(crate) async fn record(
    server: &AppServer,
    id: &ThreadId,
) -> Result<Option<ThreadRecord>, Failure> {
    let found = server.host().store().get(id).await;
    found.map_err(|error| Failure::internal(error.to_string()))
}

/// The thread for a record, with its status if it is loaded.
pub(crate) async fn stored_or_live(
    server: &AppServer,
    id: &ThreadId,
) -> Result<(Option<ThreadRecord>, Option<Snapshot>), Failure> {
    let live = live(server, id).await;
    Ok((record(server, id).await?, live))
}

/// Adds the name and git state that users set.
pub(crate) async fn add_metadata(server: &AppServer, thread: &mut Thread) {
    let id = ThreadId(thread.id.clone());
    // The thread is useful without the data of the index.
    let Ok((name, git)) = server.host().store().annotations(&id).await else {
        return;
    };
    thread.name = name.or_else(|| thread.name.take());
    if let Some(git) = git {
        thread.git_info = git_info(git);
    }
}

/// Adds section, project and marks; and the objective as the preview of a thread that only a goal has started.
pub(crate) async fn add_stored_state(
    server: &Arc<AppServer>,
    thread: &mut Thread,
) -> Result<(), Failure> {
    if thread.preview.is_empty() {
        let found = record(server, &ThreadId(thread.id.clone())).await?;
        thread.preview = found
            .and_then(|record| record.facts.preview)
            .unwrap_or_default();
    }
    let (state, mut own) = (Arc::clone(server.state()), thread.clone());
    *thread = blocking(move || {
        add_state(&state, &mut own).map_err(state_failed)?;
        Ok(own)
    })
    .await?;
    Ok(())
}

/// Adds what is known only of loaded threads.
pub(crate) fn add_live(thread: &mut Thread, live: &Thread) {
    thread.cwd.clone_from(&live.cwd);
    thread.model.clone_from(&live.model);
    thread.environments.clone_from(&live.environments);
    thread.thread_source.clone_from(&live.thread_source);
    thread.originator.clone_from(&live.originator);
    thread.reasoning_effort.clone_from(&live.reasoning_effort);
}

/// Adds section, project and marks, which are not stored in the rollout.
pub(crate) fn add_state(state: &ThreadState, thread: &mut Thread) -> Result<(), StateError> {
    if let Some((section, entered_at)) = state.section_of(&thread.id)? {
        thread.section = Some(wire_section(section));
        thread.section_entered_at = Some(entered_at);
    }
    thread.project_id = state.project_of(&thread.id)?;
    thread.daybreak_enabled = state.daybreak_of(&thread.id)?;
    Ok(())
}

/// The status of a thread.
pub(crate) async fn status_of(server: &AppServer, id: &ThreadId) -> ThreadStatus {
    let live = live(server, id).await;
    live.map_or(ThreadStatus::NotLoaded, |live| live.thread.status)
}

pub(crate) async fn live(server: &AppServer, id: &ThreadId) -> Option<Snapshot> {
    server.thread(id.as_str())?.describe().await
}

/// The provider of threads without one in their file.
pub(crate) fn default_provider(server: &AppServer) -> String {
    server.host().default_provider()
}
