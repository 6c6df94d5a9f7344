//! Requests to the store of checkpoints and its reports, as clients write and read them.

use std::path::{Path, PathBuf};

use codex_app_server_protocol::v2::*;
use codex_checkpoints::{
    ConflictReason, DifferenceKind, NotKept, OnConflict, RestoreError, RestoreReport,
    RestoreRequest,
};
use jiff::Timestamp;

use crate::failure::Failure;

/// The request for the store.
pub(crate) fn request_of(
    params: &ThreadCheckpointRestoreParams,
) -> Result<RestoreRequest, Failure> {
    Ok(RestoreRequest {
        checkpoint: params.checkpoint_id.clone(),
        paths: paths_of(params.paths.clone())?,
        on_conflict: match params.on_conflict.unwrap_or_default() {
            CheckpointConflictChoice::Fail => OnConflict::Fail,
            CheckpointConflictChoice::Skip => OnConflict::Skip,
            CheckpointConflictChoice::Overwrite => OnConflict::Overwrite,
        },
        dry_run: params.dry_run.unwrap_or(false),
        at: Timestamp::now().as_second(),
    })
}

/// The report of the store as a response.
pub(crate) fn response_of(report: &RestoreReport) -> ThreadCheckpointRestoreResponse {
    let changed = report.changed.iter().map(|file| CheckpointRestoredFile {
        path: text(&file.path),
        kind: kind(file.kind),
    });
    let conflicts = report.conflicts.iter().map(|conflict| CheckpointConflict {
        path: text(&conflict.path),
        reason: match conflict.reason {
            ConflictReason::ChangedSince => CheckpointConflictReason::ChangedSince,
            ConflictReason::ChangedBetween => CheckpointConflictReason::ChangedBetween,
            ConflictReason::OtherThread => CheckpointConflictReason::OtherThread,
            ConflictReason::Unreachable => CheckpointConflictReason::Unreachable,
        },
    });
    ThreadCheckpointRestoreResponse {
        changed: changed.collect(),
        conflicts: conflicts.collect(),
        not_kept: report.not_kept.iter().map(not_kept).collect(),
        undo_checkpoint_id: report.undo_checkpoint.clone(),
    }
}

/// An error of the store.
pub(crate) fn checkpoint_failure(error: &RestoreError) -> Failure {
    match error {
        RestoreError::NoCheckpoint(_) | RestoreError::NotLater(_) | RestoreError::Busy => {
            Failure::invalid(error.to_string())
        }
        RestoreError::Failed { .. } | RestoreError::HalfDone { .. } | RestoreError::Store(_) => {
            Failure::internal(error.to_string())
        }
    }
}

pub(crate) fn paths_of(paths: Option<Vec<String>>) -> Result<Vec<PathBuf>, Failure> {
    let paths: Vec<PathBuf> = paths.into_iter().flatten().map(PathBuf::from).collect();
    match paths.iter().find(|path| !path.is_absolute()) {
        Some(path) => {
            let path = path.display();
            Err(Failure::invalid(format!("not an absolute path: {path}")))
        }
        None => Ok(paths),
    }
}

pub(crate) fn not_kept(not_kept: &NotKept) -> CheckpointNotKept {
    CheckpointNotKept {
        path: text(&not_kept.path),
        reason: not_kept.reason.as_str().to_owned(),
    }
}

pub(crate) fn kind(kind: DifferenceKind) -> CheckpointChangeKind {
    match kind {
        DifferenceKind::Added => CheckpointChangeKind::Added,
        DifferenceKind::Deleted => CheckpointChangeKind::Deleted,
        DifferenceKind::Modified => CheckpointChangeKind::Modified,
    }
}

pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}
