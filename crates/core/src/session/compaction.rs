//! Compacting the history on demand.

use codex_protocol::Op;
use codex_session_base::thread::{OperationReply, OperationResult, TaskKind};
use tokio::sync::oneshot;

use super::actor::SessionActor;
use super::call::ThreadCall;
use super::state::TurnOverrides;
use crate::turn::run_compaction;

/// Compacts the history as a task of its own. A running task is replaced.
#[derive(Debug)]
pub struct Compact {
    /// Gets the end of it.
    pub reply: oneshot::Sender<OperationResult>,
}

impl ThreadCall for Compact {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        let id = session.context.ids.submission();
        session.operate(id, Op::Compact, self.reply).await;
    }
}

impl SessionActor {
    pub(super) async fn compact(&mut self, id: &str, reply: OperationReply) {
        let scope = self.new_turn(id, TurnOverrides::default());
        let body = |scope, conversation| run_compaction(scope, conversation, reply);
        self.start(TaskKind::Compact, scope, body).await;
    }
}
