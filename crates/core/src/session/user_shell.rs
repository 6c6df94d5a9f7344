//! Commands that a person types: beside the turn that runs, or as a task of their own.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::task::TaskKind;
use super::{Session, TurnOverrides};
use crate::conversation::Conversation;
use crate::tools::{ToolContext, TypedCommand, run_user_shell};
use crate::turn::{self, CompletedTurn, Input, ToolCall, ToolPayload, TurnError, TurnScope};

impl Session {
    pub(super) async fn user_shell(&mut self, id: String, command: TypedCommand) {
        if let Some(scope) = self.running().map(|running| running.scope(&self.services)) {
            // The turn goes on meanwhile; it tells the model at its next request.
            let input_queue = Arc::clone(&scope.input_queue);
            tokio::spawn(async move {
                let context = context(&scope);
                let record = run_user_shell(&context, &command, &scope.stop).await;
                let _ = input_queue.put(Input::Hidden(Box::new(record)));
            });
            return;
        }
        let settings = self.turn_settings(&id, TurnOverrides::default());
        self.start(TaskKind::UserShell, settings, |scope, conversation| {
            run(scope, conversation, command)
        })
        .await;
    }
}

async fn run(
    scope: TurnScope,
    mut conversation: Conversation,
    command: TypedCommand,
) -> Conversation {
    let guard = turn::TurnGuard::start(&scope);
    let record = run_user_shell(&context(&scope), &command, &scope.stop).await;
    conversation.record(record, &turn::recorder(&scope));
    crate::repository::materialise(&scope.services);
    let ended = match scope.stop.is_stopped() {
        true => Err(TurnError::Stopped),
        false => Ok(CompletedTurn::default()),
    };
    turn::finish(&scope, &mut conversation, guard, ended).await;
    conversation
}

fn context(scope: &TurnScope) -> ToolContext {
    let call = ToolCall {
        id: scope.services.ids.item(),
        name: "user_shell".to_owned(),
        payload: ToolPayload::Custom(String::new()),
    };
    ToolContext::new(scope, &call, CancellationToken::new())
}
