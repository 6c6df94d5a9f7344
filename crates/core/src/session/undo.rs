//! Undo: restores the files to the latest snapshot.

use codex_protocol::{EventMsg, GhostCommit, UndoCompletedEvent, UndoStartedEvent};

use super::actor::SessionActor;
use super::state::TurnOverrides;
use crate::git::{Git, snapshot};
use crate::history::Conversation;
use crate::thread::TaskKind;
use crate::turn::{CompletedTurn, TurnError, TurnGuard, TurnScope, finish};

impl SessionActor {
    /// Runs an undo as a task of its own. A running task is replaced.
    pub(super) async fn undo(&mut self, id: &str) {
        let scope = self.new_turn(id, TurnOverrides::default());
        self.start(TaskKind::Undo, scope, run).await;
    }
}

async fn run(scope: TurnScope, mut conversation: Conversation) -> Conversation {
    let guard = TurnGuard::unannounced(&scope);
    let emitter = scope.emitter();
    emitter.emit(EventMsg::UndoStarted(UndoStartedEvent {
        message: Some("Undo in progress...".to_owned()),
    }));
    let done = tokio::select! {
        biased;
        () = scope.stop.stopped() => None,
        done = go_back(&scope, conversation.latest_snapshot()) => Some(done),
    };
    let ended = done.is_some();
    let (success, message) = match done {
        Some(Ok(message)) => (true, message),
        Some(Err(message)) => (false, message),
        None => (
            false,
            "Undo was stopped; files may be changed in part.".to_owned(),
        ),
    };
    if success {
        conversation.forget_snapshot();
    }
    emitter.emit(EventMsg::UndoCompleted(UndoCompletedEvent {
        success,
        message: Some(message),
    }));
    let ended = ended.then(CompletedTurn::default).ok_or(TurnError::Stopped);
    finish(&scope, &mut conversation, guard, ended).await;
    conversation
}

async fn go_back(scope: &TurnScope, to: Option<GhostCommit>) -> Result<String, String> {
    let to = to.ok_or("No ghost snapshot available to undo.")?;
    let git = Git::new(&scope.session, &scope.settings.cwd);
    let restored = snapshot::restore(&git, &to).await;
    let short: String = to.id.chars().take(7).collect();
    restored
        .map(|()| format!("Undo restored snapshot {short}."))
        .map_err(|reason| format!("Failed to restore snapshot {}: {reason}", to.id))
}
