//! Undo: files become what they were before the last turn that changed any.

use codex_checkpoints::{CheckpointStore, RestoreReport, RestoreRequest};
use codex_protocol::{EventMsg, Op, UndoCompletedEvent, UndoStartedEvent};
use codex_session_base::history::Conversation;
use codex_session_base::thread::{OperationError, OperationReply, OperationResult, TaskKind};
use tokio::sync::oneshot;

use super::actor::SessionActor;
use super::call::ThreadCall;
use super::state::TurnOverrides;
use crate::turn::{CompletedTurn, TurnGuard, TurnScope, finish};

/// How many conflicts are named.
const NAMED_CONFLICTS: usize = 3;

/// Makes files what they were before the last turn that changed any, as a task of its own. A running task is replaced.
#[derive(Debug)]
pub struct Undo {
    /// Gets the end of it.
    pub reply: oneshot::Sender<OperationResult>,
}

impl ThreadCall for Undo {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        let id = session.context.ids.submission();
        session.operate(id, Op::Undo, self.reply).await;
    }
}

impl SessionActor {
    pub(super) async fn undo(&mut self, id: &str, reply: OperationReply) {
        let scope = self.new_turn(id, TurnOverrides::default());
        let body = |scope, conversation| run(scope, conversation, reply);
        self.start(TaskKind::Undo, scope, body).await;
    }
}

async fn run(
    scope: TurnScope,
    mut conversation: Conversation,
    reply: OperationReply,
) -> Conversation {
    let guard = TurnGuard::unannounced(&scope);
    let emitter = scope.emitter();
    emitter.emit(EventMsg::UndoStarted(UndoStartedEvent {
        message: Some("Undo in progress...".to_owned()),
    }));
    // A restore is done as a whole or not at all, so it is not stopped.
    let undone = go_back(&scope).await;
    let success = undone.is_ok();
    let message = match &undone {
        Ok(message) | Err(message) => message.clone(),
    };
    emitter.emit(EventMsg::UndoCompleted(UndoCompletedEvent {
        success,
        message: Some(message),
    }));
    let ended = Ok(CompletedTurn::default());
    finish(&scope, &mut conversation, guard, ended).await;
    reply.send(undone.map(drop).map_err(OperationError::Failed));
    conversation
}

async fn go_back(scope: &TurnScope) -> Result<String, String> {
    if scope.settings.first_elsewhere().is_some() {
        let none = "This thread works on another machine, where earlier states of files are not kept, so nothing can be undone.";
        return Err(none.to_owned());
    }
    let nothing = "No ghost snapshot available to undo.";
    let store = scope.session.config.services.checkpoint_store.clone();
    let store = store.ok_or(nothing)?;
    let thread = scope.session.emitter.thread().to_string();
    let at = scope.session.clock.now().as_second();
    let done = tokio::task::spawn_blocking(move || restore(&store, &thread, at));
    let done = done.await.map_err(|_| "The undo crashed.".to_owned())?;
    match done.map_err(|error| format!("Failed to restore the files: {error}"))? {
        None => Err(nothing.to_owned()),
        Some(report) if !report.conflicts.is_empty() => Err(conflicts(&report)),
        Some(report) => Ok(format!("Undo restored {} files.", report.changed.len())),
    }
}

fn restore(
    store: &CheckpointStore,
    thread: &str,
    at: i64,
) -> Result<Option<RestoreReport>, codex_checkpoints::RestoreError> {
    let Some(checkpoint) = store.last_turn(thread)? else {
        return Ok(None);
    };
    let request = RestoreRequest {
        checkpoint: checkpoint.id,
        at,
        ..RestoreRequest::default()
    };
    store.restore(thread, &request).map(Some)
}

fn conflicts(report: &RestoreReport) -> String {
    let conflicts = report.conflicts.iter().take(NAMED_CONFLICTS);
    let names: Vec<String> = conflicts
        .map(|conflict| conflict.path.display().to_string())
        .collect();
    format!(
        "Nothing was undone, because {} files were changed by somebody else: {}",
        report.conflicts.len(),
        names.join(", ")
    )
}
