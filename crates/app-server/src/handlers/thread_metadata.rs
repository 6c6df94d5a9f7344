//! `thread/name/set`, `thread/metadata/update`, `getConversationSummary`: names and metadata of threads.
//!
//! Both are written to the index and, if there is one, to the rollout.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_app_server_protocol::v2::{
    ConversationGitInfo, ConversationSummary, GetConversationSummaryParams,
    GetConversationSummaryResponse, Thread, ThreadMetadataGitInfoUpdateParams,
    ThreadMetadataUpdateParams, ThreadMetadataUpdateResponse, ThreadNameUpdatedNotification,
    ThreadSetNameParams, ThreadSetNameResponse, ThreadStatus,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_protocol::{EventMsg, GitInfo, ThreadId, ThreadNameUpdatedEvent, Update};
use codex_rollout::LineKind;
use codex_thread_store::{ThreadRecord, annotations};
use jiff::Timestamp;

use super::call::{EarlyReply, RequestContext};
use super::stored::{self, default_provider, record};
use super::{blocking, projects, state_failed, store_loaded, thread_id};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::server::AppServer;
use crate::thread::amend;

pub(super) async fn set_name(
    RequestContext { server, connection }: RequestContext,
    params: ThreadSetNameParams,
) -> Result<EarlyReply<method::ThreadSetName>, Failure> {
    let updated = try_set_name(&server, &connection, &params).await?;
    Ok(EarlyReply::then(ThreadSetNameResponse {}, move || {
        server.broadcast(&ServerNotification::ThreadNameUpdated(updated));
    }))
}

async fn try_set_name(
    server: &Arc<AppServer>,
    connection: &Connection,
    params: &ThreadSetNameParams,
) -> Result<ThreadNameUpdatedNotification, Failure> {
    let id = thread_id(&params.thread_id)?;
    let name = params.name.trim().to_owned();
    if name.is_empty() {
        return Err(Failure::invalid("thread name must not be empty"));
    }
    store_loaded(server, connection, &params.thread_id).await?;
    let subject = MetadataTarget::find(server, &id).await?;
    let path = match &subject {
        MetadataTarget::Unwritten(live) if live.ephemeral => {
            let message = format!("ephemeral thread does not support names: {id}");
            return Err(Failure::invalid(message));
        }
        MetadataTarget::Stored(record) if record.archived => return Err(not_found(&id)),
        MetadataTarget::Stored(record) => Some(record.path.clone()),
        MetadataTarget::Unwritten(_) => None,
    };
    let updated = ThreadNameUpdatedNotification {
        thread_id: id.to_string(),
        thread_name: Some(name.clone()),
    };
    write_name(server, id, name, path).await?;
    Ok(updated)
}

async fn write_name(
    server: &Arc<AppServer>,
    id: ThreadId,
    name: String,
    path: Option<PathBuf>,
) -> Result<(), Failure> {
    let store = server.host().store().clone();
    let line = EventMsg::ThreadNameUpdated(ThreadNameUpdatedEvent {
        thread_id: id.clone(),
        thread_name: Some(name.clone()),
    });
    let amended = path.clone();
    let written = blocking(move || {
        let now = Timestamp::now();
        codex_rollout::set_name(store.home(), &id, &name, now)
            .map_err(|error| Failure::internal(format!("failed to name the thread: {error}")))?;
        store.update_name_elsewhere(&id, &name);
        amend(store.home(), &id, amended, |path| {
            codex_rollout::amend(path, now, LineKind::EventMsg, &line)
        });
        Ok(())
    });
    written.await?;
    touched(server, path);
    Ok(())
}

/// Gives a stored fork the name of its source.
pub(super) async fn copy_name(
    server: &Arc<AppServer>,
    source: &str,
    fork: &Thread,
) -> Option<String> {
    let path = fork.path.as_ref().map(PathBuf::from)?;
    let source = ThreadId(source.to_owned());
    let (name, _) = server.host().store().annotations(&source).await.ok()?;
    let name = name.or(record(server, &source).await.ok()??.name)?;
    let named = write_name(server, ThreadId(fork.id.clone()), name.clone(), Some(path));
    named.await.ok().map(|()| name)
}

pub(super) async fn update(
    RequestContext { server, connection }: RequestContext,
    params: ThreadMetadataUpdateParams,
) -> Result<ThreadMetadataUpdateResponse, Failure> {
    let is_empty = params.git_info.is_none()
        && params.project_id.is_none()
        && params.daybreak_enabled.is_none();
    if !is_empty {
        store_loaded(&server, &connection, &params.thread_id).await?;
    }
    let outcome = try_update(&server, params).await;
    outcome.map(|thread| ThreadMetadataUpdateResponse { thread })
}

async fn try_update(
    server: &Arc<AppServer>,
    params: ThreadMetadataUpdateParams,
) -> Result<Thread, Failure> {
    let id = thread_id(&params.thread_id)?;
    if let Some(project) = params.project_id {
        let project = Some(project).filter(|project| !project.is_empty());
        MetadataTarget::find(server, &id).await?;
        if projects::assign(server, id.as_str(), project.clone()).await? {
            projects::thread_filed(server, id.to_string(), project);
        }
        if params.git_info.is_none() && params.daybreak_enabled.is_none() {
            return shown(server, &id).await;
        }
    }
    if let Some(is_enabled) = params.daybreak_enabled {
        if let MetadataTarget::Unwritten(live) = MetadataTarget::find(server, &id).await?
            && live.ephemeral
        {
            let message = "daybreakEnabled is not supported for ephemeral threads";
            return Err(Failure::invalid(message));
        }
        set_daybreak(server, &id, is_enabled).await?;
        if params.git_info.is_none() {
            return shown(server, &id).await;
        }
    }
    if params.git_info.is_none() {
        let message = "thread metadata update must include at least one field";
        return Err(Failure::invalid(message));
    }
    let change = change_of(params.git_info)?;
    let mut subject = MetadataTarget::find(server, &id).await?;
    let (git, path) = match &mut subject {
        MetadataTarget::Unwritten(live) if live.ephemeral => {
            let message = format!("ephemeral thread does not support metadata updates: {id}");
            return Err(Failure::invalid(message));
        }
        MetadataTarget::Stored(record) => (record.facts.git.clone(), Some(record.path.clone())),
        MetadataTarget::Unwritten(live) => (live.git_info.take().map(stored_git), None),
    };
    let git = change(git.unwrap_or_default());
    let home = server.host().store().home().to_owned();
    let (thread, amended) = (id.clone(), path.clone());
    let written = blocking(move || {
        let now = Timestamp::now();
        annotations::set_git(&home, &thread, &git, now).map_err(|error| {
            Failure::internal(format!(
                "failed to store the metadata of thread {thread}: {error}"
            ))
        })?;
        amend(&home, &thread, amended, |path| {
            let Some(mut meta) = codex_rollout::head(path, &thread)? else {
                return Ok(());
            };
            (meta.base_instructions, meta.dynamic_tools) = (None, None);
            meta.git = Some(git);
            codex_rollout::amend(path, now, LineKind::SessionMeta, &meta)
        });
        Ok(())
    });
    written.await?;
    touched(server, path);
    shown(server, &id).await
}

/// Stores a mark that clients set on threads and read again; nothing here depends on it.
pub(super) async fn set_daybreak(
    server: &Arc<AppServer>,
    id: &ThreadId,
    is_enabled: bool,
) -> Result<(), Failure> {
    let (state, thread) = (Arc::clone(server.state()), id.to_string());
    blocking(move || {
        let stored = state.set_daybreak(&thread, is_enabled);
        stored.map_err(state_failed)
    })
    .await
}

/// The thread after a change, without turns.
async fn shown(server: &Arc<AppServer>, id: &ThreadId) -> Result<Thread, Failure> {
    let mut thread = match MetadataTarget::find(server, id).await? {
        MetadataTarget::Stored(record) => {
            let live = stored::live(server, id).await;
            let status = live
                .as_ref()
                .map_or(ThreadStatus::NotLoaded, |live| live.thread.status.clone());
            let mut thread = stored::shown(server, *record, status).await?;
            if let Some(live) = live {
                stored::add_live(&mut thread, &live.thread);
            }
            thread
        }
        MetadataTarget::Unwritten(live) => Thread {
            can_accept_direct_input: None,
            ..*live
        },
    };
    let state = Arc::clone(server.state());
    blocking(move || {
        stored::add_state(&state, &mut thread).map_err(state_failed)?;
        Ok(thread)
    })
    .await
}

/// The change of the git information.
fn change_of(
    params: Option<ThreadMetadataGitInfoUpdateParams>,
) -> Result<impl FnOnce(GitInfo) -> GitInfo, Failure> {
    let params = params.filter(|params| {
        let leaves = [&params.sha, &params.branch, &params.origin_url].map(Update::is_leave);
        leaves != [true; 3]
    });
    let params =
        params.ok_or_else(|| Failure::invalid("gitInfo must include at least one field"))?;
    let sha = trimmed("sha", params.sha)?;
    let branch = trimmed("branch", params.branch)?;
    let origin_url = trimmed("originUrl", params.origin_url)?;
    Ok(|mut git: GitInfo| {
        sha.apply(&mut git.commit_hash);
        branch.apply(&mut git.branch);
        origin_url.apply(&mut git.repository_url);
        git
    })
}

fn trimmed(member: &str, value: Update<String>) -> Result<Update<String>, Failure> {
    match value.map(|text| text.trim().to_owned()) {
        Update::Set(text) if text.is_empty() => {
            let message = format!("gitInfo.{member} must not be empty");
            Err(Failure::invalid(message))
        }
        value => Ok(value),
    }
}

fn stored_git(git: codex_app_server_protocol::v2::GitInfo) -> GitInfo {
    GitInfo {
        commit_hash: git.sha,
        branch: git.branch,
        repository_url: git.origin_url,
    }
}

fn touched(server: &AppServer, path: Option<PathBuf>) {
    if let Some(path) = path {
        server.host().store().touched(&path);
    }
}

/// The thread whose metadata changes.
enum MetadataTarget {
    Stored(Box<ThreadRecord>),
    /// A loaded thread without a file.
    Unwritten(Box<Thread>),
}

impl MetadataTarget {
    async fn find(server: &AppServer, id: &ThreadId) -> Result<Self, Failure> {
        let live = stored::live(server, id).await;
        if let Some(record) = record(server, id).await? {
            return Ok(Self::Stored(Box::new(record)));
        }
        let mut thread = live.ok_or_else(|| not_found(id))?.thread;
        stored::add_metadata(server, &mut thread).await;
        Ok(Self::Unwritten(Box::new(thread)))
    }
}

fn not_found(id: &ThreadId) -> Failure {
    Failure::invalid(format!("thread not found: {id}"))
}

pub(super) async fn summarise(
    RequestContext { server, .. }: RequestContext,
    params: GetConversationSummaryParams,
) -> Result<GetConversationSummaryResponse, Failure> {
    let outcome = summary(&server, params).await;
    outcome.map(|summary| GetConversationSummaryResponse { summary })
}

async fn summary(
    server: &Arc<AppServer>,
    params: GetConversationSummaryParams,
) -> Result<ConversationSummary, Failure> {
    let record = match params {
        GetConversationSummaryParams::ConversationId { conversation_id } => {
            let id = thread_id(conversation_id.as_str())?;
            let found = record(server, &id).await?;
            let missing = || format!("no rollout found for conversation id {id}");
            found.ok_or_else(|| Failure::invalid(missing()))?
        }
        GetConversationSummaryParams::RolloutPath { rollout_path } => {
            let path = server.host().store().home().join(rollout_path);
            blocking(move || {
                codex_thread_store::read_record(&path).map_err(|error| {
                    let path = path.display();
                    let message =
                        format!("failed to load conversation summary from {path}: {error}");
                    Failure::internal(message)
                })
            })
            .await?
        }
    };
    let (path, seconds) = (record.path.clone(), record.updated_at);
    let updated_at = blocking(move || Ok(changed_at(&path, seconds))).await?;
    let provider = default_provider(server);
    let facts = record.facts;
    let timestamp = started_at(record.id.as_str(), facts.created_at);
    Ok(ConversationSummary {
        conversation_id: record.id,
        path: record.path.display().to_string(),
        preview: facts.preview.unwrap_or_default(),
        timestamp,
        updated_at,
        model_provider: facts.provider.unwrap_or(provider),
        cwd: facts.cwd,
        cli_version: facts.cli_version,
        source: facts.source,
        git_info: facts
            .git
            .and_then(stored::git_info)
            .map(|git| ConversationGitInfo {
                sha: git.sha,
                branch: git.branch,
                origin_url: git.origin_url,
            }),
    })
}

/// The time at which a thread started, with the milliseconds that its id has.
fn started_at(id: &str, seconds: i64) -> Option<String> {
    let time_of_id = uuid::Uuid::parse_str(id)
        .ok()
        .and_then(|id| id.get_timestamp())
        .map(|time| time.to_unix());
    let nanos = time_of_id
        .filter(|(at, _)| i64::try_from(*at) == Ok(seconds))
        .and_then(|(_, nanos)| i32::try_from(nanos).ok());
    in_milliseconds(Timestamp::new(seconds, nanos.unwrap_or_default()).ok()?)
}

/// The time at which the file of a thread changed last; `seconds` if it is gone.
fn changed_at(path: &Path, seconds: i64) -> Option<String> {
    let changed = codex_mounts::metadata(path).and_then(|file| file.modified());
    let changed = changed.ok().and_then(|at| Timestamp::try_from(at).ok());
    in_milliseconds(changed.or_else(|| Timestamp::from_second(seconds).ok())?)
}

fn in_milliseconds(time: Timestamp) -> Option<String> {
    (time.as_second() != 0).then(|| format!("{time:.3}"))
}
