//! Takes turns back for `thread/rollback`, and reads what is left.

use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::ThreadRollbackResponse;
use codex_core::{OperationError, OperationResult, RollBack};
use codex_projection::dialect::StoredForm;
use codex_protocol::TokenUsageInfo;
use tokio::sync::oneshot;

use super::StoredHistory;
use super::actor::Actor;
use super::facts::stored_thread;
use super::pending_rollback::{PendingRollback, RollbackCaller};
use super::stored::load::load;
use super::stored::record::add_metadata;
use crate::blocking::blocking;
use crate::connection::Responder;
use crate::failure::Failure;

impl Actor {
    pub(crate) async fn roll_back(
        &mut self,
        num_turns: u32,
        reply: Responder<method::ThreadRollback>,
    ) {
        let is_rollback =
            |pending: &PendingRollback| matches!(pending.caller, RollbackCaller::Rollback(_));
        if self.rollbacks.iter().any(is_rollback) {
            let message = "rollback already in progress for this thread";
            return reply.refuse(Failure::invalid(message));
        }
        let first = self.last_turn(num_turns).await;
        let caller = RollbackCaller::Rollback(reply);
        self.begin_rollback(num_turns, first, None, caller).await;
    }

    /// Asks the engine to take turns back. Its end comes with [`Actor::rollback_ended`].
    pub(super) async fn begin_rollback(
        &mut self,
        num_turns: u32,
        first_turn_id: Option<String>,
        token_usage: Option<Box<TokenUsageInfo>>,
        caller: RollbackCaller,
    ) {
        let (reply, end) = oneshot::channel();
        let call = RollBack {
            num_turns,
            first_turn_id,
            token_usage,
            reply,
        };
        // A closed engine drops the call, which is its end then.
        let _ = self.thread.send(call).await;
        self.rollbacks.push_back(PendingRollback { end, caller });
    }

    /// The engine has carried out or refused the rollback that it was asked for first. All events before are handled.
    pub(super) async fn rollback_ended(&mut self, end: OperationResult) {
        let Some(PendingRollback { caller, .. }) = self.rollbacks.pop_front() else {
            return;
        };
        let failure = end.err().map(|error| match error {
            OperationError::Closed(_) => Failure::internal(error.to_string()),
            _ => Failure::invalid(error.to_string()),
        });
        match (caller, failure) {
            (RollbackCaller::Rollback(reply), None) => self.answer_rollback(reply).await,
            (RollbackCaller::Rollback(reply), Some(failure)) => reply.refuse(failure),
            (RollbackCaller::Revert { removed, reply }, None) => {
                self.reverted(&removed, reply).await;
            }
            (RollbackCaller::Revert { reply, .. }, Some(failure)) => {
                self.refuse_revert(reply, failure).await;
            }
        }
    }

    /// The id of the n-th turn from the end, or of the first one. None if there is no turn.
    async fn last_turn(&self, n: u32) -> Option<String> {
        let _ = self.thread.flush().await;
        let path = self.facts.path.clone().filter(|path| path.exists())?;
        let server = Arc::clone(&self.server);
        let found = blocking(move || {
            let outline = server.outlines().get(&path).ok();
            let turns = outline.map(|outline| {
                let from_end = usize::try_from(n).unwrap_or(usize::MAX);
                let at = outline.ids().len().saturating_sub(from_end);
                outline.ids().nth(at).map(str::to_owned)
            });
            Ok(turns.flatten())
        });
        found.await.ok().flatten()
    }

    async fn answer_rollback(&self, reply: Responder<method::ThreadRollback>) {
        match self
            .read_file(reply.connection().dialect().stored_form())
            .await
        {
            Ok((path, loaded)) => {
                let (mut thread, turns) = stored_thread(&path, loaded, self.status());
                add_metadata(&self.server, &mut thread).await;
                reply.accept_with(&ThreadRollbackResponse { thread }, &turns);
            }
            Err(failure) => reply.refuse(failure),
        }
    }

    /// The complete file of the thread.
    pub(super) async fn read_file(
        &self,
        form: StoredForm,
    ) -> Result<(PathBuf, StoredHistory), Failure> {
        let id = self.thread.id();
        let missing = || Failure::invalid(format!("no rollout found for thread id {id}"));
        let _ = self.thread.flush().await;
        let path = self.facts.path.clone().filter(|path| path.exists());
        let path = path.ok_or_else(missing)?;
        let running = self.fold.running_turn().map(|running| running.turn.id);
        load(&self.server, path, form, running).await
    }
}
