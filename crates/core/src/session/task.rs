//! Starting, ending and aborting the one task that runs.

use std::sync::Arc;
use std::time::Duration;

use codex_protocol::{CodexErrorInfo, TurnAbortReason};
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::{Services, Session, SessionState};
use crate::conversation::Conversation;
use crate::turn::{
    Input, InputQueue, StopSignal, TurnDiffTracker, TurnInput, TurnScope, TurnSettings,
};

/// How long a task that was told to stop may take to do so. It takes milliseconds; this is for a
/// task that hangs, whose conversation is then lost.
const GRACE: Duration = Duration::from_secs(10);

/// What kind of task it is. Only a regular one has a use for more input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskKind {
    /// A turn with the model.
    #[error("a turn")]
    Regular,
    /// A compaction.
    #[error("a compact turn")]
    Compact,
    /// A review.
    #[error("a review turn")]
    Review,
    /// A command that a person typed.
    #[error("a command")]
    UserShell,
    /// Files going back to a snapshot.
    #[error("an undo")]
    Undo,
}

/// The task that runs.
#[derive(Debug)]
pub(crate) struct RunningTask {
    pub(crate) kind: TaskKind,
    pub(crate) settings: Arc<TurnSettings>,
    pub(crate) input_queue: Arc<InputQueue>,
    stop: StopSignal,
    task: JoinHandle<Conversation>,
}

impl RunningTask {
    /// What the task works with.
    pub(super) fn scope(&self, services: &Arc<Services>) -> TurnScope {
        TurnScope {
            settings: Arc::clone(&self.settings),
            services: Arc::clone(services),
            input_queue: Arc::clone(&self.input_queue),
            stop: self.stop.clone(),
            diff: TurnDiffTracker::new(&self.settings.cwd),
        }
    }
}

/// Waits for the end of the task that runs; for ever if none does.
pub(super) async fn ended(state: &mut SessionState) -> Option<Conversation> {
    match state {
        SessionState::Running(running) => (&mut running.task).await.ok(),
        SessionState::Idle(_) | SessionState::Between => std::future::pending().await,
    }
}

impl Session {
    /// The turn that runs.
    pub(crate) fn running(&self) -> Option<&RunningTask> {
        match &self.state {
            SessionState::Running(running) => Some(running),
            SessionState::Idle(_) | SessionState::Between => None,
        }
    }

    /// The conversation, if no turn has it.
    pub(crate) fn idle(&mut self) -> Option<&mut Conversation> {
        match &mut self.state {
            SessionState::Idle(conversation) => Some(conversation),
            SessionState::Running(_) | SessionState::Between => None,
        }
    }

    /// Starts a task with the conversation. One that runs is aborted first.
    pub(crate) async fn start<F>(
        &mut self,
        kind: TaskKind,
        settings: TurnSettings,
        body: impl FnOnce(TurnScope, Conversation) -> F,
    ) where
        F: Future<Output = Conversation> + Send + 'static,
    {
        self.abort(TurnAbortReason::Replaced).await;
        let SessionState::Idle(conversation) =
            std::mem::replace(&mut self.state, SessionState::Between)
        else {
            return;
        };
        let diff = TurnDiffTracker::new(&settings.cwd);
        let scope = TurnScope {
            settings: Arc::new(settings),
            services: Arc::clone(&self.services),
            input_queue: Arc::default(),
            stop: StopSignal::default(),
            diff,
        };
        let (settings, input_queue) = (Arc::clone(&scope.settings), Arc::clone(&scope.input_queue));
        let stop = scope.stop.clone();
        let span = tracing::debug_span!("turn", id = %settings.id);
        let task = tokio::spawn(body(scope, *conversation).instrument(span));
        self.state = SessionState::Running(RunningTask {
            kind,
            settings,
            input_queue,
            stop,
            task,
        });
    }

    /// Starts a regular turn.
    pub(crate) async fn start_regular(&mut self, settings: TurnSettings, input: TurnInput) {
        if let Some(servers) = self.other_servers.take() {
            self.services.mcp.start(&self.services, servers);
        }
        let body = |scope, conversation| crate::turn::run_regular(scope, conversation, input);
        self.start(TaskKind::Regular, settings, body).await;
    }

    /// Stops the task that runs and waits for its end, which is soon: everything that a turn waits
    /// for, it waits for together with the word to stop.
    pub(crate) async fn abort(&mut self, reason: TurnAbortReason) {
        let SessionState::Running(running) = &mut self.state else {
            return;
        };
        running.stop.stop(reason);
        self.questions.drop_turn();
        let ended = tokio::select! {
            ended = &mut running.task => ended.ok(),
            () = self.services.clock.sleep(GRACE) => {
                running.task.abort();
                (&mut running.task).await.ok()
            }
        };
        self.turn_ended(ended);
    }

    /// Takes the conversation back.
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
            self.error(&running.settings.id, message, CodexErrorInfo::Other);
            Conversation::default()
        });
        self.state = SessionState::Idle(Box::new(conversation));
        for notice in std::mem::take(&mut self.notices) {
            self.tell_model(notice);
        }
    }

    /// Puts something into the turn that runs; gives it back if none takes it.
    pub(crate) fn put_into_turn(&self, input: Input) -> Result<&RunningTask, Input> {
        match self.running() {
            Some(running) => running.input_queue.put(input).map(|()| running),
            None => Err(input),
        }
    }
}
