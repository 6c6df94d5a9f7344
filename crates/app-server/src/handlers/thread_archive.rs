//! `thread/archive`, `thread/unarchive`, `thread/delete`: move or delete the rollout of a thread. A loaded thread is
//! unloaded first.

use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server_protocol::v2::{
    ThreadArchiveParams, ThreadArchiveResponse, ThreadArchivedNotification, ThreadDeleteParams,
    ThreadDeleteResponse, ThreadDeletedNotification, ThreadUnarchiveParams,
    ThreadUnarchiveResponse, ThreadUnarchivedNotification,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_protocol::ThreadId;
use codex_rollout::{LockError, MoveError, ThreadLock, ThreadLocks};
use codex_thread_store::ThreadRecord;

use super::call::{EarlyReply, RequestContext};
use super::stored::{self, record, status_of};
use super::thread_list::side_threads;
use super::{blocking, state_failed, store_loaded, thread_id};
use crate::failure::Failure;
use crate::server::AppServer;
use crate::thread::Actor;

pub(super) async fn archive(
    RequestContext { server, connection }: RequestContext,
    params: ThreadArchiveParams,
) -> Result<EarlyReply<method::ThreadArchive>, Failure> {
    store_loaded(&server, &connection, &params.thread_id).await?;
    let id = try_archive(&server, &params.thread_id).await?;
    Ok(EarlyReply::then(ThreadArchiveResponse {}, move || {
        let thread_id = id.to_string();
        server.broadcast(&ServerNotification::ThreadArchived(
            ThreadArchivedNotification { thread_id },
        ));
    }))
}

async fn try_archive(server: &Arc<AppServer>, id: &str) -> Result<ThreadId, Failure> {
    let id = thread_id(id)?;
    let found = written(server, &id).await?;
    let path = found.filter(|record| !record.archived);
    let path = path.ok_or_else(|| no_rollout(&id))?.path;
    let _lock = unload(server, &id).await?;
    let (store, old, thread) = (server.host().store().clone(), path.clone(), id.clone());
    let moved = blocking(move || {
        let moved = codex_rollout::archive(store.home(), &path, &thread);
        let new = moved.map_err(|error| failed("archive", error))?;
        store.update_path_elsewhere(&thread, &new, true);
        Ok(new)
    });
    let new = moved.await?;
    touched(server, [old, new]);
    Ok(id)
}

pub(super) async fn unarchive(
    RequestContext { server, .. }: RequestContext,
    params: ThreadUnarchiveParams,
) -> Result<EarlyReply<method::ThreadUnarchive>, Failure> {
    let response = try_unarchive(&server, &params.thread_id).await?;
    let thread_id = response.thread.id.clone();
    Ok(EarlyReply::then(response, move || {
        let unarchived = ThreadUnarchivedNotification { thread_id };
        server.broadcast(&ServerNotification::ThreadUnarchived(unarchived));
    }))
}

async fn try_unarchive(
    server: &Arc<AppServer>,
    id: &str,
) -> Result<ThreadUnarchiveResponse, Failure> {
    let id = thread_id(id)?;
    let missing = || Failure::invalid(format!("no archived rollout found for thread id {id}"));
    let found = record(server, &id).await?;
    let path = found.filter(|record| record.archived);
    let path = path.ok_or_else(missing)?.path;
    let _lock = unload(server, &id).await?;
    let (store, old, thread) = (server.host().store().clone(), path.clone(), id.clone());
    let moved = blocking(move || {
        let moved = codex_rollout::unarchive(store.home(), &path, &thread);
        let new = moved.map_err(|error| failed("unarchive", error))?;
        store.update_path_elsewhere(&thread, &new, false);
        Ok(new)
    });
    let new = moved.await?;
    touched(server, [old, new]);
    let found = record(server, &id).await?.ok_or_else(missing)?;
    let status = status_of(server, &id).await;
    let thread = stored::shown(server, found, status).await?;
    Ok(ThreadUnarchiveResponse { thread })
}

pub(super) async fn delete(
    RequestContext { server, .. }: RequestContext,
    params: ThreadDeleteParams,
) -> Result<EarlyReply<method::ThreadDelete>, Failure> {
    let id = try_delete(&server, &params.thread_id).await?;
    Ok(EarlyReply::then(ThreadDeleteResponse {}, move || {
        let thread_id = id.to_string();
        server.broadcast(&ServerNotification::ThreadDeleted(
            ThreadDeletedNotification { thread_id },
        ));
    }))
}

async fn try_delete(server: &Arc<AppServer>, id: &str) -> Result<ThreadId, Failure> {
    let id = thread_id(id)?;
    let found = written(server, &id).await?;
    if found.is_none() {
        check_unstored(server, &id).await?;
    }
    refuse_with_side_threads(server, &id).await?;
    let _lock = unload(server, &id).await?;
    let Some(record) = found else {
        // It had no file yet, so there is nothing to move.
        return Ok(id);
    };
    let (home, path, thread) = (home(server), record.path.clone(), id.clone());
    let deleting = Arc::clone(server);
    let removed = blocking(move || {
        codex_rollout::delete(&home, &path, &thread)
            .map_err(|error| Failure::internal(format!("failed to delete thread: {error}")))?;
        deleting.outlines().forget(&path);
        Ok(())
    });
    removed.await?;
    let (state, thread) = (Arc::clone(server.state()), id.clone());
    let checkpoints = Arc::clone(server.host().checkpoints());
    let memories = Arc::clone(server.host().memories());
    let forget = move || {
        if let Err(error) = checkpoints.delete_thread(thread.as_str()) {
            tracing::warn!(%error, "the checkpoints of a deleted thread stay");
        }
        if let Err(error) = memories.forget_thread(thread.as_str()) {
            tracing::warn!(%error, "the memories of a deleted thread stay");
        }
        state.forget_thread(thread.as_str()).map_err(state_failed)
    };
    blocking(forget).await?;
    touched(server, [record.path]);
    Ok(id)
}

/// A thread without a file must be loaded, and be one that will get a file.
async fn check_unstored(server: &AppServer, id: &ThreadId) -> Result<(), Failure> {
    match stored::live(server, id).await {
        None => Err(no_rollout(id)),
        Some(live) if live.thread.ephemeral => Err(Failure::invalid(format!(
            "thread is not persisted and cannot be deleted: {id}"
        ))),
        _ => Ok(()),
    }
}

/// A thread with side threads is not deleted, because they belong to it.
async fn refuse_with_side_threads(server: &AppServer, id: &ThreadId) -> Result<(), Failure> {
    for archived in [false, true] {
        let found = server.host().store().list(side_threads(id, archived)).await;
        let found = found.map_err(|error| Failure::internal(error.to_string()))?;
        if let Some(thread) = found.threads.first() {
            let side = &thread.id;
            let message = format!(
                "cannot delete thread while attached thread {side} exists; delete the attached thread first"
            );
            return Err(Failure::invalid(message));
        }
    }
    Ok(())
}

/// The current record of a thread; none if it has no file.
async fn written(server: &AppServer, id: &ThreadId) -> Result<Option<ThreadRecord>, Failure> {
    if let Some(loaded) = server.thread(id.as_str()) {
        loaded.describe().await;
    }
    record(server, id).await
}

/// Unloads a thread. It cannot be loaded again until the lock is dropped.
async fn unload(server: &AppServer, id: &ThreadId) -> Result<ThreadLock, Failure> {
    let locks = ThreadLocks::of_home(server.host().store().home());
    if let Some(holder) = locks.other_holder(id) {
        return Err(Failure::invalid(LockError::new(id, holder).to_string()));
    }
    if let Some(loaded) = server.thread(id.as_str()) {
        let _ = loaded.call_now(Actor::close_silently).await;
        loaded.closed().await;
    }
    let lock = locks.acquire(id);
    lock.map_err(|held| Failure::invalid(held.to_string()))
}

fn home(server: &AppServer) -> PathBuf {
    server.host().store().home().to_owned()
}

fn touched<const N: usize>(server: &AppServer, paths: [PathBuf; N]) {
    for path in paths {
        server.host().store().touched(&path);
    }
}

fn no_rollout(id: &ThreadId) -> Failure {
    Failure::invalid(format!("no rollout found for thread id {id}"))
}

fn failed(doing: &str, error: MoveError) -> Failure {
    match error {
        MoveError::Io(error) => Failure::internal(format!("failed to {doing} thread: {error}")),
        refused => Failure::invalid(refused.to_string()),
    }
}
