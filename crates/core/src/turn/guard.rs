//! Emits the start of a turn, and its end exactly once, whatever happens.

use std::sync::Arc;
use std::time::Duration;

use codex_protocol::{
    CodexErrorInfo, ErrorEvent, EventMsg, TurnAbortReason, TurnAbortedEvent, TurnCompleteEvent,
    TurnStartedEvent,
};
use codex_session_base::budget::TurnBudget;
use codex_session_base::events::TurnEmitter;
use codex_session_base::input::StopSignal;
use codex_session_base::ports::Clock;

use super::outcome::CompletedTurn;
use super::scope::TurnScope;

/// A turn whose start was emitted.
#[derive(Debug)]
pub(crate) struct TurnGuard {
    emitter: TurnEmitter,
    clock: Arc<dyn Clock>,
    begun: Duration,
    ended: bool,
    stop: StopSignal,
    budget: TurnBudget,
}

impl TurnGuard {
    pub(crate) fn start(scope: &TurnScope) -> Self {
        let guard = Self::unannounced(scope);
        guard.emitter.emit(EventMsg::TurnStarted(TurnStartedEvent {
            turn_id: guard.emitter.turn_id().to_owned(),
            root_turn_id: scope.settings.root_turn_id.clone(),
            started_at: Some(guard.clock.now().as_second()),
            model_context_window: scope.settings.model.effective_context_window(),
            collaboration_mode_kind: scope.settings.mode.mode,
        }));
        guard
    }

    /// For a turn that is continued: its start is in the file already.
    pub(crate) fn again(scope: &TurnScope, started: TurnStartedEvent) -> Self {
        let guard = Self::unannounced(scope);
        guard.emitter.emit_again(EventMsg::TurnStarted(started));
        guard
    }

    /// For a task that emits its start itself.
    pub(crate) fn unannounced(scope: &TurnScope) -> Self {
        let emitter = scope.emitter();
        let clock = Arc::clone(&scope.session.clock);
        let begun = clock.elapsed();
        scope.budget.begin(&scope.settings.limits);
        Self {
            emitter,
            clock,
            begun,
            ended: false,
            stop: scope.stop.clone(),
            budget: scope.budget.clone(),
        }
    }

    pub(crate) fn complete(mut self, completed: CompletedTurn) {
        self.end(completed);
    }

    pub(crate) fn abort(mut self, reason: TurnAbortReason) {
        self.note_end();
        let turn_id = Some(self.emitter.turn_id().to_owned());
        self.emitter.emit(EventMsg::TurnAborted(TurnAbortedEvent {
            turn_id,
            reason,
            completed_at: Some(self.clock.now().as_second()),
            duration_ms: self.duration_ms(),
            usage: self.budget.end().map(Box::new),
        }));
    }

    fn end(&mut self, completed: CompletedTurn) {
        self.note_end();
        self.emitter.emit(EventMsg::TurnComplete(TurnCompleteEvent {
            turn_id: self.emitter.turn_id().to_owned(),
            error: None,
            last_agent_message: completed.last_agent_message,
            response_id: completed.response_id,
            completed_at: Some(self.clock.now().as_second()),
            duration_ms: self.duration_ms(),
            usage: self.budget.end().map(Box::new),
        }));
    }

    fn note_end(&mut self) {
        self.ended = true;
        self.stop.note_end();
    }

    fn duration_ms(&self) -> Option<i64> {
        let taken = self.clock.elapsed().saturating_sub(self.begun);
        i64::try_from(taken.as_millis()).ok()
    }
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        self.emitter.emit(EventMsg::Error(ErrorEvent {
            message: "Fatal error: the turn ended unexpectedly".to_owned(),
            codex_error_info: Some(CodexErrorInfo::Other),
            exceeded_limit: None,
        }));
        self.end(CompletedTurn::default());
    }
}
