//! Starting, ending and aborting the one task that runs.

use std::time::Duration;

use codex_protocol::{CodexErrorInfo, TurnAbortReason};
use codex_session_base::history::Conversation;
use codex_session_base::input::{Input, LateInput, TurnInput};
use codex_session_base::thread::TaskKind;
use tracing::Instrument;

use super::actor::SessionActor;
use super::context_snapshot::snapshot_of;
use super::state::{RunningTask, SessionState};
use crate::turn::{TurnScope, run_regular};

/// The time limit for a task to stop. It takes milliseconds; a task that hangs is aborted, and its
/// conversation is lost.
const GRACE_TIME: Duration = Duration::from_secs(10);

impl SessionActor {
    /// The running task.
    pub(super) fn running(&self) -> Option<&RunningTask> {
        match &self.state {
            SessionState::Running(running) => Some(running),
            SessionState::Idle(_) | SessionState::Between => None,
        }
    }

    /// Whether the turn with this id runs.
    pub(super) fn is_running(&self, turn: &str) -> bool {
        let running = self.running();
        running.is_some_and(|running| *running.scope.settings.id == *turn)
    }

    /// The conversation, if no task has it.
    pub(super) fn idle(&mut self) -> Option<&mut Conversation> {
        match &mut self.state {
            SessionState::Idle(conversation) => Some(conversation),
            SessionState::Running(_) | SessionState::Between => None,
        }
    }

    /// Starts a task with the conversation. A running task is aborted first.
    pub(super) async fn start<F>(
        &mut self,
        kind: TaskKind,
        scope: TurnScope,
        body: impl FnOnce(TurnScope, Conversation) -> F,
    ) where
        F: Future<Output = Conversation> + Send + 'static,
    {
        self.abort(TurnAbortReason::Replaced).await;
        self.unfinished = None;
        let SessionState::Idle(conversation) =
            std::mem::replace(&mut self.state, SessionState::Between)
        else {
            return;
        };
        let known = snapshot_of(&scope, &conversation);
        *self.context.last_request.lock() = Some(known);
        let span = tracing::debug_span!("turn", id = %scope.settings.id);
        // It is large, and would be copied several times.
        let work = Box::pin(body(scope.clone(), *conversation).instrument(span));
        let task = tokio::spawn(work);
        self.state = SessionState::Running(Box::new(RunningTask { kind, scope, task }));
        self.place_notices();
    }

    /// Starts a regular turn.
    pub(super) async fn start_regular(&mut self, scope: TurnScope, input: TurnInput) {
        if let Some(servers) = self.other_servers.take() {
            self.start_mcp_servers(servers);
        }
        scope.input_queue.begins_with(input.saved.as_ref());
        let body = |scope, conversation| run_regular(scope, conversation, input);
        self.start(TaskKind::Regular, scope, body).await;
    }

    /// Stops the running task and waits for its end. That is soon, as a turn waits for nothing without also
    /// waiting for the stop signal.
    pub(super) async fn abort(&mut self, reason: TurnAbortReason) {
        let SessionState::Running(running) = &mut self.state else {
            return;
        };
        running.scope.stop.stop(reason);
        self.questions.drop_turn();
        let ended = tokio::select! {
            ended = &mut running.task => ended.ok(),
            () = self.context.clock.sleep(GRACE_TIME) => {
                running.task.abort();
                (&mut running.task).await.ok()
            }
        };
        self.turn_ended(ended);
    }

    /// Waits for a task whose end was emitted, if no other follows: a client that saw it may go on at once.
    pub(super) async fn settle(&mut self) {
        let is_over = |running: &RunningTask| running.scope.stop.has_ended();
        if self.queued_turns.is_empty() && self.running().is_some_and(is_over) {
            let ended = self.state.task_ended().await;
            self.turn_ended(ended);
        }
    }

    /// Takes the conversation back after a task.
    pub(super) fn turn_ended(&mut self, conversation: Option<Conversation>) {
        self.questions.drop_turn();
        self.approvals.end_turn();
        let SessionState::Running(running) =
            std::mem::replace(&mut self.state, SessionState::Between)
        else {
            return;
        };
        let conversation = conversation.unwrap_or_else(|| {
            let message = "internal error; the conversation was lost with its turn";
            self.error(&running.scope.settings.id, message, CodexErrorInfo::Other);
            Conversation::default()
        });
        let left = running.scope.input_queue.close();
        self.member_turn_ended(&running);
        self.state = SessionState::Idle(Box::new(conversation));
        if running.scope.stop.late_input() == LateInput::GivenUp {
            running.scope.input_queue.give_up();
        }
        self.put_back_notices(left);
        self.place_notices();
    }

    /// Gives input to the running turn. Returns the input if no turn takes it.
    pub(super) fn put_into_turn(&self, input: Input) -> Result<&RunningTask, Input> {
        match self.running() {
            Some(running) => running.scope.input_queue.put(input).map(|()| running),
            None => Err(input),
        }
    }
}
