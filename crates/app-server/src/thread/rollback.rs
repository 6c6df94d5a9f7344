//! Takes turns back for `thread/rollback`, and reads what is left.

use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::ThreadRollbackResponse;
use codex_protocol::Op;

use super::StoredHistory;
use super::actor::Actor;
use super::facts::stored_thread;
use super::stored::load::load;
use super::stored::record::add_metadata;
use crate::blocking::blocking;
use crate::connection::Responder;
use crate::failure::Failure;
use codex_projection::dialect::StoredForm;

impl Actor {
    pub(crate) async fn roll_back(
        &mut self,
        num_turns: u32,
        reply: Responder<method::ThreadRollback>,
    ) {
        if self.rollback.is_some() {
            let message = "rollback already in progress for this thread";
            return reply.refuse(Failure::invalid(message));
        }
        let op = Op::ThreadRollback {
            num_turns,
            first_turn_id: self.last_turn(num_turns).await,
            token_usage: None,
        };
        match self.thread.submit(op).await {
            Ok(id) => self.rollback = Some((id, reply)),
            Err(error) => reply.refuse(Failure::internal(error.to_string())),
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

    /// The engine refused the rollback with this error.
    pub(super) fn rollback_refused(&mut self, id: &str, message: &str) {
        if let Some((_, reply)) = self.rollback.take_if(|(submission, _)| submission == id) {
            reply.refuse(Failure::invalid(message));
        }
    }

    pub(super) async fn rolled_back(&mut self, id: &str) {
        let Some((_, reply)) = self.rollback.take_if(|(submission, _)| submission == id) else {
            return;
        };
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
