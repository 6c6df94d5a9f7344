//! The loop of a session.

use std::collections::VecDeque;
use std::sync::Arc;

use codex_gate::ApprovalStore;
use codex_hooks::EventInput;
use codex_protocol::{
    CodexErrorInfo, ErrorEvent, EventMsg, ThreadSettings, TurnAbortReason, WarningEvent,
};
use codex_session_base::agents::{AgentTree, ChildAgents, ResumedAgent, is_agent};
use codex_session_base::config::McpServer;
use codex_session_base::events::Emitter;
use codex_session_base::history::{Conversation, UnfinishedTurn};
use codex_session_base::hooks::HookOccasion;
use codex_session_base::input::{HiddenItem, LateInput};
use codex_session_base::ports::SessionInput;
use codex_session_base::session_context::{SessionBeginning, SessionContext};
use codex_session_base::thread::SampleRequest;
use tokio::sync::watch;

use super::call::{CallReceiver, WeakCallQueue};
use super::open_questions::OpenQuestions;
use super::realtime_state::RealtimeState;
use super::review_state::ReviewState;
use super::state::{QueuedTurn, SessionState};
use super::turn_base::{ToolCache, TurnBase};
use crate::thread_origin::AgentLauncher;

/// How many turns may wait, and how many questions to the model.
pub(super) const MAX_WAITING: usize = 512;

/// What a session is made of.
#[derive(Debug)]
pub(crate) struct SessionParts {
    pub(crate) base: TurnBase,
    pub(crate) launcher: Box<dyn AgentLauncher>,
    pub(crate) agent_tree: AgentTree,
    pub(crate) resumed_agents: Vec<ResumedAgent>,
    pub(crate) settings: watch::Sender<Arc<ThreadSettings>>,
    pub(crate) calls: CallReceiver,
    pub(crate) own_calls: WeakCallQueue,
    pub(crate) tool_calls: CallReceiver,
    pub(crate) conversation: Conversation,
    pub(crate) unfinished: Option<UnfinishedTurn>,
}

/// The actor behind a thread. Others reach it through calls alone.
#[derive(Debug)]
pub struct SessionActor {
    pub(super) context: Arc<SessionContext>,
    pub(super) base: TurnBase,
    pub(super) launcher: Box<dyn AgentLauncher>,
    pub(super) agent_tree: AgentTree,
    /// Agents that are loaded with the thread.
    resumed_agents: Vec<ResumedAgent>,
    pub(super) settings: watch::Sender<Arc<ThreadSettings>>,
    calls: CallReceiver,
    /// For what runs besides turns.
    pub(super) own_calls: WeakCallQueue,
    /// Whether the session ends.
    pub(super) is_shut_down: bool,
    /// From below the session. They come first.
    tool_calls: CallReceiver,
    pub(super) tool_cache: ToolCache,
    pub(super) questions: OpenQuestions,
    pub(super) approvals: ApprovalStore,
    pub(super) state: SessionState,
    /// The last turn, if it had not ended when the process of the thread did. Kept until a task starts.
    pub(super) unfinished: Option<UnfinishedTurn>,
    /// MCP servers that replace the current ones when the next turn starts.
    pub(super) other_servers: Option<Vec<McpServer>>,
    /// Turns that wait for the end of a task that takes no input.
    pub(super) queued_turns: VecDeque<QueuedTurn>,
    /// Questions that wait for the end of the running task.
    pub(super) samples: Vec<SampleRequest>,
    pub(super) children: ChildAgents,
    /// Items for the model that wait for the end of the task that has the conversation.
    pub(super) notices: VecDeque<HiddenItem>,
    /// Automatic reviews, from the first one on.
    pub(super) reviews: Option<Box<ReviewState>>,
    /// The realtime conversation, from the first one on.
    pub(super) realtime: Option<Box<RealtimeState>>,
}

impl SessionActor {
    pub(crate) fn new(parts: SessionParts) -> Self {
        let context = Arc::clone(&parts.base.session);
        Self {
            approvals: ApprovalStore::with_rules(context.config.options.rules.clone()),
            context,
            base: parts.base,
            launcher: parts.launcher,
            agent_tree: parts.agent_tree,
            resumed_agents: parts.resumed_agents,
            settings: parts.settings,
            calls: parts.calls,
            own_calls: parts.own_calls,
            is_shut_down: false,
            tool_calls: parts.tool_calls,
            tool_cache: ToolCache::default(),
            questions: OpenQuestions::default(),
            state: SessionState::Idle(Box::new(parts.conversation)),
            unfinished: parts.unfinished,
            other_servers: None,
            queued_turns: VecDeque::new(),
            samples: Vec::new(),
            children: ChildAgents::default(),
            notices: VecDeque::new(),
            reviews: None,
            realtime: None,
        }
    }

    /// Runs until it is shut down, its last handle is dropped, or its parent drops it. The work is boxed, so
    /// that an idle session holds no room for it.
    pub(crate) async fn run(mut self) {
        let _close = CloseOnDrop(self.context.emitter.clone());
        let dropped_by_parent = self.agent_tree.cancel.clone();
        for agent in std::mem::take(&mut self.resumed_agents) {
            self.resume_with_thread(agent);
        }
        while !self.is_shut_down {
            tokio::select! {
                biased;
                conversation = self.state.task_ended() => {
                    self.turn_ended(conversation);
                    Box::pin(self.start_queued()).await;
                    Box::pin(self.start_for_mail()).await;
                }
                () = self.children.one_done() => self.report_agents(),
                (id, pending) = self.questions.abandoned_connection() => {
                    self.connection_abandoned(id, pending);
                }
                () = dropped_by_parent.cancelled() => break,
                Some(call) = self.tool_calls.recv() => call.run(&mut self).await,
                call = self.calls.recv() => match call {
                    Some(call) => {
                        self.observe(|| call.observed());
                        call.run(&mut self).await;
                    }
                    None => break,
                },
            }
            self.start_samples();
            if self.running().is_none() && self.queued_turns.is_empty() {
                self.context.emitter.give_back();
            }
        }
        Box::pin(self.shut_down()).await;
    }

    /// Lets the observer have an input for the model.
    pub(super) fn observe(&self, input: impl FnOnce() -> Option<SessionInput>) {
        if let Some(observer) = self.context.emitter.observer()
            && let Some(input) = input()
        {
            observer.input(&input);
        }
    }

    async fn shut_down(&mut self) {
        let goes_on = self.questions.waits_for_person();
        if goes_on {
            // The file ends as it is, so that the turn can be continued and asks again.
            let _ = self.context.emitter.synchronise().await;
            self.context.emitter.end_log();
        }
        if let Some(running) = self.running() {
            running.scope.stop.note_session_end(if goes_on {
                LateInput::Left
            } else {
                LateInput::Recorded
            });
        }
        self.abort(TurnAbortReason::Interrupted).await;
        self.children.close_all().await;
        if let Some(seat) = self
            .agent_tree
            .seat
            .as_ref()
            .filter(|_| self.agent_tree.depth == 0)
        {
            seat.team.close().await;
        }
        self.end_realtime().await;
        self.base.tool_services.mcp.stop();
        if let Some(cells) = self.base.tool_services.cells.get() {
            cells.close();
        }
        self.base.tool_services.terminals.stop_all().await;
        self.run_end_hooks().await;
        if let Err(error) = self.context.emitter.synchronise().await {
            self.warn("", format!("The conversation could not be saved: {error}"));
        }
        self.context.emitter.emit("", EventMsg::ShutdownComplete);
    }

    /// Runs the hooks for the end of the session, if those for its beginning were run.
    async fn run_end_hooks(&self) {
        let beginning = *self.context.beginning.lock();
        let has_begun = beginning.is_none_or(|one| one == SessionBeginning::Compaction);
        if is_agent(&self.context.config) || !has_begun {
            return;
        }
        let settings = self.settings();
        let occasion = HookOccasion {
            session: &self.context,
            turn: "",
            cwd: &settings.cwd,
            model: &settings.model,
            approval_policy: settings.approval_policy,
            sandbox_policy: &settings.sandbox_policy,
            disabled_plugins: &settings.disabled_plugins,
        };
        let event = EventInput::SessionEnd { reason: "other" };
        occasion.run_hooks(&event).await;
    }

    pub(super) fn warn(&self, id: &str, message: String) {
        let warning = EventMsg::Warning(WarningEvent { message });
        self.context.emitter.emit(id, warning);
    }

    pub(super) fn error(&self, id: &str, message: impl Into<String>, info: CodexErrorInfo) {
        let error = EventMsg::Error(ErrorEvent {
            message: message.into(),
            codex_error_info: Some(info),
            exceeded_limit: None,
        });
        self.context.emitter.emit(id, error);
    }
}

/// Closes the events however the session ends.
struct CloseOnDrop(Emitter);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}
