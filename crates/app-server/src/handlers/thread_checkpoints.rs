//! `thread/checkpoint/*`: what files were before turns changed them, and going back to it.

use std::sync::Arc;

use codex_app_server_protocol::v2::*;
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_checkpoints::{Checkpoint, Coverage};
use codex_rollout::{LockError, ThreadLocks};
use futures::FutureExt as _;

use super::call::{EarlyReply, RequestContext};
use super::{blocking, paging, thread_id};
use crate::failure::Failure;
use crate::server::AppServer;
use crate::thread::checkpoints::{
    checkpoint_failure, kind, not_kept, paths_of, request_of, response_of, text,
};

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: ThreadCheckpointListParams,
) -> Result<ThreadCheckpointListResponse, Failure> {
    let thread = thread_id(&params.thread_id)?;
    let store = Arc::clone(server.host().checkpoints());
    let found = blocking(move || {
        let found = store.checkpoints(thread.as_str());
        found.map_err(|error| Failure::internal(error.to_string()))
    });
    let mut data: Vec<ThreadCheckpoint> = found.await?.iter().map(shown).collect();
    if params.sort_direction != Some(SortDirection::Asc) {
        data.reverse();
    }
    let cursor = params.cursor.as_deref();
    let (data, next_cursor) = paging::page(data, cursor, params.limit, "checkpoints")?;
    Ok(ThreadCheckpointListResponse { data, next_cursor })
}

pub(super) async fn diff(
    RequestContext { server, .. }: RequestContext,
    params: ThreadCheckpointDiffParams,
) -> Result<ThreadCheckpointDiffResponse, Failure> {
    let thread = thread_id(&params.thread_id)?;
    let paths = paths_of(params.paths)?;
    let store = Arc::clone(server.host().checkpoints());
    let diff = blocking(move || {
        let (from, to) = (&params.checkpoint_id, params.to.as_deref());
        let diff = store.diff(thread.as_str(), from, to, &paths);
        diff.map_err(|error| checkpoint_failure(&error))
    });
    let diff = diff.await?;
    let files = diff.files.into_iter().map(|file| CheckpointDiffFile {
        path: text(&file.path),
        kind: kind(file.kind),
        binary: file.binary,
        insertions: file.insertions,
        deletions: file.deletions,
    });
    Ok(ThreadCheckpointDiffResponse {
        diff: diff.text,
        files: files.collect(),
    })
}

pub(super) async fn restore(
    RequestContext { server, .. }: RequestContext,
    params: ThreadCheckpointRestoreParams,
) -> Result<EarlyReply<method::ThreadCheckpointRestore>, Failure> {
    let thread = thread_id(&params.thread_id)?;
    if let Some(loaded) = server.thread(thread.as_str()) {
        return Ok(EarlyReply::by_thread_in_order(loaded, |thread, reply| {
            thread.restore(params, reply).boxed()
        }));
    }
    let scope = params.restore.unwrap_or_default();
    if scope != CheckpointRestoreScope::Files {
        return Err(Failure::invalid(format!("thread not found: {thread}")));
    }
    let locks = ThreadLocks::of_home(server.host().store().home());
    if let Some(holder) = locks.other_holder(&thread) {
        return Err(Failure::invalid(
            LockError::new(&thread, holder).to_string(),
        ));
    }
    let lock = locks.acquire(&thread);
    let lock = lock.map_err(|held| Failure::invalid(held.to_string()))?;
    let checkpoint_id = params.checkpoint_id.clone();
    let response = restore_files(&server, thread.to_string(), &params).await?;
    drop(lock);
    let thread_id = params.thread_id;
    let undo = response.undo_checkpoint_id.clone();
    Ok(EarlyReply::then(response, move || {
        if let Some(undo_checkpoint_id) = undo {
            let restored = ThreadCheckpointRestoredNotification {
                thread_id,
                checkpoint_id,
                undo_checkpoint_id,
            };
            server.broadcast(&ServerNotification::ThreadCheckpointRestored(restored));
        }
    }))
}

async fn restore_files(
    server: &AppServer,
    thread: String,
    params: &ThreadCheckpointRestoreParams,
) -> Result<ThreadCheckpointRestoreResponse, Failure> {
    let request = request_of(params)?;
    let store = Arc::clone(server.host().checkpoints());
    let restored = blocking(move || {
        let restored = store.restore(&thread, &request);
        restored.map_err(|error| checkpoint_failure(&error))
    });
    restored.await.map(|report| response_of(&report))
}

fn shown(checkpoint: &Checkpoint) -> ThreadCheckpoint {
    ThreadCheckpoint {
        id: checkpoint.id.clone(),
        kind: match checkpoint.kind {
            codex_checkpoints::CheckpointKind::Turn => CheckpointKind::Turn,
            codex_checkpoints::CheckpointKind::Restore => CheckpointKind::Restore,
        },
        turn_id: checkpoint.turn.clone(),
        created_at: checkpoint.at,
        label: checkpoint.label.clone(),
        files: checkpoint.files() as u64,
        insertions: checkpoint.insertions,
        deletions: checkpoint.deletions,
        coverage: match checkpoint.coverage {
            Coverage::Complete => CheckpointCoverage::Complete,
            Coverage::Patches => CheckpointCoverage::Patches,
            Coverage::Partial => CheckpointCoverage::Partial,
        },
        not_kept: checkpoint.not_kept.iter().map(not_kept).collect(),
        roots: checkpoint.roots.iter().map(|root| text(root)).collect(),
    }
}
