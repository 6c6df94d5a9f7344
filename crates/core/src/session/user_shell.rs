//! Commands of the user: beside the running turn, or as a task of their own.

use codex_protocol::{CodexErrorInfo, EventMsg, WarningEvent};
use codex_session_base::history::Conversation;
use codex_session_base::input::Input;
use codex_session_base::thread::TaskKind;
use codex_tools::{ToolCall, ToolContext, ToolPayload, TypedCommand, run_user_shell};
use tokio_util::sync::CancellationToken;

use super::actor::SessionActor;
use super::notices::InjectItems;
use super::state::TurnOverrides;
use crate::git;
use crate::turn::{CompletedTurn, TurnError, TurnGuard, TurnScope, finish};

/// Why a command of the user does not run in a thread without an environment, or on another machine.
const NO_SHELL: &str = "this session has no environment on this machine, so there is no shell";

impl SessionActor {
    pub(super) async fn user_shell(&mut self, id: String, command: TypedCommand) {
        if let Some(scope) = self.running().map(|running| running.scope.clone()) {
            if self.context.config.services.replay.is_some() {
                // The recorded turn took the record.
                return;
            }
            if !scope.settings.is_local_first() {
                let message = NO_SHELL.to_owned();
                let warning = EventMsg::Warning(WarningEvent { message });
                return scope.emitter().emit(warning);
            }
            // The turn continues meanwhile, and its next request contains the result; or that of the next turn.
            let own_calls = self.own_calls.clone();
            tokio::spawn(async move {
                let context = context(&scope);
                let record = run_user_shell(&context, &command, &scope.stop).await;
                if let Err(Input::Note(record)) =
                    scope.input_queue.put(Input::Note(Box::new(record)))
                    && let Some(session) = own_calls.upgrade()
                {
                    let _ = session.send(InjectItems(vec![*record])).await;
                }
            });
            return;
        }
        let scope = self.new_turn(&id, TurnOverrides::default());
        self.start(TaskKind::UserShell, scope, |scope, conversation| {
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
    let guard = TurnGuard::start(&scope);
    if !scope.settings.is_local_first() {
        let failed = Err(TurnError::Failed {
            message: NO_SHELL.to_owned(),
            info: CodexErrorInfo::Other,
        });
        finish(&scope, &mut conversation, guard, failed).await;
        return conversation;
    }
    let record = match &scope.session.config.services.replay {
        Some(replay) => replay.user_shell(scope.session.emitter.thread()).await,
        None => run_user_shell(&context(&scope), &command, &scope.stop).await,
    };
    if let Some(observer) = scope.session.emitter.observer() {
        observer.user_shell_ended(&record);
    }
    conversation.record(record, &scope.recorder());
    git::materialise(&scope.session);
    let ended = if scope.stop.is_stopped() {
        Err(TurnError::Stopped)
    } else {
        Ok(CompletedTurn::default())
    };
    finish(&scope, &mut conversation, guard, ended).await;
    conversation
}

fn context(scope: &TurnScope) -> ToolContext {
    let call = ToolCall {
        id: scope.session.ids.item(),
        name: "user_shell".to_owned(),
        payload: ToolPayload::Custom(String::new()),
        script: None,
    };
    scope.tool_context(call, CancellationToken::new())
}
