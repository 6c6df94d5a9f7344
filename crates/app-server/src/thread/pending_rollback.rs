//! Turns that the engine takes back, and who waits for that.

use std::collections::VecDeque;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::ThreadCheckpointRestoreResponse;
use codex_core::{OperationResult, ThreadClosed};
use tokio::sync::oneshot;

use crate::connection::Responder;

/// Turns that the engine takes back.
#[derive(Debug)]
pub(super) struct PendingRollback {
    pub(super) end: oneshot::Receiver<OperationResult>,
    pub(super) caller: RollbackCaller,
}

/// Who waits for the end of a rollback.
#[derive(Debug)]
pub(super) enum RollbackCaller {
    Rollback(Responder<method::ThreadRollback>),
    Revert {
        /// The ids of the removed turns.
        removed: Vec<String>,
        reply: RevertReply,
    },
}

/// Who waits for a revert.
#[derive(Debug)]
pub(super) enum RevertReply {
    Revert(Responder<method::ThreadRevert>),
    /// Files went back already.
    Restore {
        reply: Responder<method::ThreadCheckpointRestore>,
        restored: Box<ThreadCheckpointRestoreResponse>,
    },
}

/// Waits for the end of the first rollback; for ever if there is none. The engine carries them out in order.
pub(super) async fn end_of_first(rollbacks: &mut VecDeque<PendingRollback>) -> OperationResult {
    match rollbacks.front_mut() {
        Some(first) => (&mut first.end).await.unwrap_or(Err(ThreadClosed.into())),
        None => std::future::pending().await,
    }
}
