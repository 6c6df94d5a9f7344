//! Continues a turn that had not ended when its process did.
//!
//! Calls that waited for the answer of a person had not begun: they are made again, and ask again. Other calls without an
//! output may have had effects: the model is told that they were interrupted, and they are never made twice.

use std::panic::AssertUnwindSafe;
use std::pin::pin;

use codex_protocol::FunctionCallOutputBody;
use codex_session_base::history::{Conversation, UnfinishedTurn, summary};
use codex_tools::ToolCall;
use futures::FutureExt;

use super::calls::RunningCalls;
use super::guard::TurnGuard;
use super::hooks::HookVerdict;
use super::outcome::{CompletedTurn, TurnError, panicked};
use super::recording::RunningTurn;
use super::run::finish_and_notify;
use super::scope::TurnScope;

const INTERRUPTED_OUTPUT: &str = "The call was interrupted, because the program that ran it ended. It may have had effects, \
                           and it was not repeated: check what it has done before you go on.";

/// Continues a turn and returns the conversation.
pub(crate) async fn run_continued(
    scope: TurnScope,
    mut conversation: Conversation,
    turn: UnfinishedTurn,
) -> Conversation {
    let emitter = scope.emitter();
    let guard = TurnGuard::again(&scope, turn.started.clone());
    let asked = summary::user_texts(&conversation.history).pop();
    scope.checkpoint.set_label(&asked.unwrap_or_default());
    let body = RunningTurn {
        scope: &scope,
        emitter: &emitter,
        conversation: &mut conversation,
    };
    scope.budget.go_on(&scope.model).await;
    let ended = {
        let work = AssertUnwindSafe(body.go_on(turn)).catch_unwind();
        let work = pin!(work.map(|ended| ended.unwrap_or_else(|_| Err(panicked()))));
        scope.in_time(work).await
    };
    finish_and_notify(&scope, &mut conversation, guard, ended).await;
    conversation
}

impl RunningTurn<'_> {
    async fn go_on(mut self, turn: UnfinishedTurn) -> Result<CompletedTurn, TurnError> {
        self.conversation.usage.reasoning_included = false;
        self.learn_shells().await;
        self.find_skills().await;
        for call in &turn.interrupted {
            if let Some(call) = ToolCall::from_item(&call.item) {
                self.record(call.answer(FunctionCallOutputBody::Text(INTERRUPTED_OUTPUT.into())));
            }
        }
        self.record_context();
        if self.begin_session().await? == HookVerdict::Refused
            && self.scope.refuse_input_if_none_waits()
        {
            return Ok(CompletedTurn::stopped_by_hook());
        }
        self.wait_for_servers().await?;
        self.make_again(turn).await?;
        self.sample_until_done().await
    }

    /// Makes the calls again that waited for an answer.
    async fn make_again(&mut self, turn: UnfinishedTurn) -> Result<(), TurnError> {
        let mut calls = RunningCalls::default();
        for call in turn.waiting {
            if let Some(mut made) = ToolCall::from_item(&call.item) {
                self.scope.tools.current().name_fully(&mut made);
                calls.start(self.scope, made, call.item);
            }
        }
        self.record_outputs(calls).await;
        if self.scope.stop.is_stopped() {
            return Err(TurnError::Stopped);
        }
        self.scope.diff.emit(self.emitter).await;
        Ok(())
    }
}
