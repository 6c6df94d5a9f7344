//! Goes back to a checkpoint of a loaded thread: files first, then the history.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    CheckpointRestoreScope, ThreadCheckpointRestoreParams, ThreadCheckpointRestoreResponse,
    ThreadCheckpointRestoredNotification,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_checkpoints::{OnConflict, RestoreReport, RestoreRequest};
use codex_core::InjectItems;
use codex_protocol::{ContentItem, ResponseItem};

use super::actor::Actor;
use super::checkpoints::{checkpoint_failure, request_of, response_of};
use super::pending_rollback::RevertReply;
use crate::blocking::blocking;
use crate::connection::Responder;
use crate::failure::Failure;

/// How many files the model is told of by name.
const MAX_NAMED_FILES: usize = 50;

impl Actor {
    /// Restores. No turn starts meanwhile, since this actor starts them.
    pub(crate) async fn restore(
        &mut self,
        params: ThreadCheckpointRestoreParams,
        reply: Responder<method::ThreadCheckpointRestore>,
    ) {
        if self.turn.is_some() || self.is_reverting() {
            let message = "a turn is running; interrupt it before a checkpoint is restored";
            return reply.refuse(Failure::invalid(message));
        }
        let scope = params.restore.unwrap_or_default();
        let turn = match self.turn_of(&params, scope).await {
            Ok(turn) => turn,
            Err(failure) => return reply.refuse(failure),
        };
        let restored = match scope {
            CheckpointRestoreScope::Conversation => ThreadCheckpointRestoreResponse::default(),
            CheckpointRestoreScope::Files | CheckpointRestoreScope::Both => {
                let request = request_of(&params);
                match self.restore_files(request).await {
                    Ok(report) => response_of(&report),
                    Err(failure) => return reply.refuse(failure),
                }
            }
        };
        if let Some(undo) = &restored.undo_checkpoint_id {
            self.notify_restored(&params.checkpoint_id, undo);
        }
        let is_refused = !restored.conflicts.is_empty()
            && params.on_conflict.unwrap_or_default() == Default::default();
        let Some(turn) = turn.filter(|_| !is_refused && params.dry_run != Some(true)) else {
            self.record_model(&restored).await;
            return reply.accept(&restored);
        };
        let restored = Box::new(restored);
        let reply = RevertReply::Restore { reply, restored };
        if let Err((reply, failure)) = self.begin_revert(&turn, reply).await {
            self.refuse_revert(reply, failure).await;
        }
    }

    /// The turn that the history goes back to, if it does.
    async fn turn_of(
        &self,
        params: &ThreadCheckpointRestoreParams,
        scope: CheckpointRestoreScope,
    ) -> Result<Option<String>, Failure> {
        if scope == CheckpointRestoreScope::Files {
            return Ok(None);
        }
        let store = Arc::clone(self.server.host().checkpoints());
        let (thread, wanted) = (self.thread.id().to_string(), params.checkpoint_id.clone());
        let turn = blocking(move || {
            let found = store.checkpoints(&thread);
            let found = found.map_err(|error| Failure::internal(error.to_string()))?;
            let missing = || Failure::invalid(format!("checkpoint not found: {wanted}"));
            let found = found.into_iter().find(|it| it.id == wanted);
            Ok(found.ok_or_else(missing)?.turn)
        });
        let no_turn = || Failure::invalid("the checkpoint is of no turn: restore files alone");
        turn.await?.ok_or_else(no_turn).map(Some)
    }

    async fn restore_files(
        &self,
        request: Result<RestoreRequest, Failure>,
    ) -> Result<RestoreReport, Failure> {
        let request = request?;
        let store = Arc::clone(self.server.host().checkpoints());
        let thread = self.thread.id().to_string();
        blocking(move || {
            let restored = store.restore(&thread, &request);
            restored.map_err(|error| checkpoint_failure(&error))
        })
        .await
    }

    fn notify_restored(&mut self, checkpoint: &str, undo: &str) {
        let restored = ThreadCheckpointRestoredNotification {
            thread_id: self.thread.id().to_string(),
            checkpoint_id: checkpoint.to_owned(),
            undo_checkpoint_id: undo.to_owned(),
        };
        self.notify(ServerNotification::ThreadCheckpointRestored(restored));
    }

    /// Undoes the restore of files, because the history stays. Returns what to say.
    pub(super) async fn take_files_back(
        &mut self,
        restored: &ThreadCheckpointRestoreResponse,
        failure: Failure,
    ) -> Failure {
        let Some(undo) = &restored.undo_checkpoint_id else {
            return failure;
        };
        let request = RestoreRequest {
            checkpoint: undo.clone(),
            on_conflict: OnConflict::Skip,
            at: jiff::Timestamp::now().as_second(),
            ..RestoreRequest::default()
        };
        match self.restore_files(Ok(request)).await {
            Ok(report) => {
                if let Some(again) = &report.undo_checkpoint {
                    self.notify_restored(undo, again);
                }
                failure
            }
            Err(second) => second,
        }
    }

    /// The history stays, so the model has to know that files are not what it made of them.
    async fn record_model(&self, restored: &ThreadCheckpointRestoreResponse) {
        if restored.undo_checkpoint_id.is_none() {
            return;
        }
        let files = restored.changed.iter().take(MAX_NAMED_FILES);
        let mut text =
            "The user restored files to an earlier state. They changed without you:".to_owned();
        for file in files {
            text.push('\n');
            text.push_str(&file.path);
        }
        let more = restored.changed.len().saturating_sub(MAX_NAMED_FILES);
        if more > 0 {
            text.push_str(&format!("\nand {more} more"));
        }
        let item = ResponseItem::Message {
            role: "developer".to_owned(),
            content: vec![ContentItem::InputText { text }],
            end_turn: None,
            phase: None,
            id: None,
        };
        let added = self.thread.call(InjectItems(vec![item])).await;
        if added.is_err() {
            tracing::warn!("a closed thread is not told of restored files");
        }
    }
}
