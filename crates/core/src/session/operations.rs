//! Carries out the operations of submissions.

use std::sync::Arc;

use codex_protocol::{
    CodexErrorInfo, ConfigureSession, EventMsg, Op, ReviewDecision, Submission,
    ThreadNameUpdatedEvent, ThreadRolledBackEvent, ThreadSettingsPatch, TurnAbortReason,
    UserInputOp, UserTurn,
};
use codex_rollout::LineKind;
use codex_session_base::config::RealtimeStart;
use codex_session_base::input::{Input, TurnInput};
use codex_session_base::ports::SessionInput;
use codex_session_base::questions::{QuestionAnswer, QuestionKey};
use codex_session_base::thread::{
    OperationError, OperationReply, OperationResult, SettingsError, TaskKind,
};
use codex_tools::TypedCommand;
use tokio::sync::oneshot;

use super::actor::{MAX_WAITING, SessionActor};
use super::call::ThreadCall;
use super::state::{QueuedTurn, TurnOverrides};

/// Carries out an operation of a submission. What comes of it are events.
#[derive(Debug)]
pub(crate) struct Submit(pub(crate) Submission);

impl ThreadCall for Submit {
    type Reply = ();

    fn observed(&self) -> Option<SessionInput> {
        is_input(&self.0.op).then(|| SessionInput::Submission(Box::new(self.0.clone())))
    }

    async fn run(self, session: &mut SessionActor) {
        let nobody = OperationReply::default();
        session.carry_out(self.0, nobody).await;
    }
}

/// Whether an operation changes what the model is sent.
fn is_input(op: &Op) -> bool {
    !matches!(
        op,
        Op::Shutdown
            | Op::AddToHistory { .. }
            | Op::GetHistoryEntryRequest { .. }
            | Op::ListSkills { .. }
            | Op::SetThreadName { .. }
            | Op::CleanBackgroundTerminals
            | Op::RealtimeConversationStart { .. }
            | Op::RealtimeConversationAudio { .. }
            | Op::RealtimeConversationText { .. }
            | Op::RealtimeConversationClose
    )
}

/// Whether an operation writes the thread, which only one process may do at a time.
fn writes(op: &Op) -> bool {
    matches!(
        op,
        Op::UserInput(_)
            | Op::UserTurn(_)
            | Op::SetThreadName { .. }
            | Op::RunUserShellCommand { .. }
            | Op::Compact
            | Op::Undo
            | Op::ThreadRollback { .. }
    )
}

/// Where the input of a turn goes.
pub(super) enum InputPlace {
    /// Into the turn of this id.
    Running(String),
    /// It waits for the end of a task that takes no input.
    Queued,
    /// Nowhere yet: it begins a turn.
    NewTurn(Box<(TurnInput, TurnOverrides)>),
}

impl SessionActor {
    /// Carries out an operation for a caller that waits for its end. Its events are those of a submission.
    pub(super) async fn operate(
        &mut self,
        id: String,
        op: Op,
        caller: oneshot::Sender<OperationResult>,
    ) {
        let submission = Submission {
            id,
            op,
            trace: None,
        };
        self.observe(|| Some(SessionInput::Submission(Box::new(submission.clone()))));
        let reply = OperationReply::new(caller);
        self.carry_out(submission, reply).await;
    }

    async fn carry_out(&mut self, submission: Submission, reply: OperationReply) {
        let Submission { id, op, .. } = submission;
        if writes(&op)
            && let Err(error) = self.context.emitter.claim()
        {
            let info = CodexErrorInfo::BadRequest;
            return self.refuse(&id, reply, error.to_string(), info);
        }
        match op {
            Op::UserInput(input) => self.user_input(id, input).await,
            Op::UserTurn(turn) => self.user_turn(id, *turn).await,
            Op::OverrideTurnContext(change) => drop(self.override_settings(&id, *change)),
            Op::ConfigureSession(configure) => self.reconfigure(id, *configure).await,
            Op::Interrupt => self.interrupt().await,
            Op::ExecApproval {
                id: approval,
                decision,
                ..
            } => self.decide(approval, decision).await,
            Op::PatchApproval {
                id: approval,
                decision,
            } => self.decide(approval, decision).await,
            Op::UserInputAnswer { id, response } => {
                self.answer(
                    &QuestionKey::UserInput(id),
                    QuestionAnswer::UserInput(response),
                );
            }
            Op::RequestPermissionsResponse { id, response } => {
                self.granted(id, response);
            }
            Op::DynamicToolResponse { id, response } => {
                self.answer(
                    &QuestionKey::DynamicTool(id),
                    QuestionAnswer::DynamicTool(response),
                );
            }
            Op::ResolveElicitation(resolved) => self.resolved(resolved).await,
            Op::SetThreadName { name } => self.set_name(&id, name.trim()),
            Op::RunUserShellCommand {
                command,
                timeout_ms,
            } => {
                let typed = TypedCommand::new(command, timeout_ms);
                self.settle().await;
                self.user_shell(id, typed).await;
            }
            Op::Compact => self.compact(&id, reply).await,
            Op::AddToHistory { text } => self.remember(text),
            Op::GetHistoryEntryRequest { offset, log_id } => self.recall(id, log_id, offset),
            Op::ListSkills { cwds, force_reload } => self.list_skills(id, cwds, force_reload),
            Op::ListCustomPrompts => self.list_custom_prompts(id),
            Op::Undo => self.undo(&id, reply).await,
            Op::Review { review_request } => self.review(id, review_request, reply).await,
            Op::CleanBackgroundTerminals => {
                let services = Arc::clone(&self.base.tool_services);
                tokio::spawn(async move { services.terminals.stop_all().await });
            }
            Op::ThreadRollback {
                num_turns,
                first_turn_id,
                token_usage,
            } => {
                self.settle().await;
                let turns = ThreadRolledBackEvent {
                    num_turns,
                    first_turn_id,
                };
                let rolled_back = Box::pin(self.roll_back(&id, turns, token_usage)).await;
                match rolled_back {
                    Ok(()) => reply.send(Ok(())),
                    Err(message) => {
                        let info = CodexErrorInfo::ThreadRollbackFailed;
                        self.refuse(&id, reply, message, info);
                    }
                }
                Box::pin(self.start_for_mail()).await;
            }
            Op::RealtimeConversationStart { prompt, session_id } => self.start_realtime(
                id,
                RealtimeStart {
                    prompt: Some(prompt),
                    session_id,
                    ..RealtimeStart::default()
                },
            ),
            Op::RealtimeConversationAudio { frame } => {
                if let Some(inputs) = self.realtime_inputs(&id) {
                    inputs.audio(frame.data);
                }
            }
            Op::RealtimeConversationText { text } => self.realtime_text(&id, text),
            Op::RealtimeConversationClose => self.stop_realtime(&id),
            Op::Shutdown => self.is_shut_down = true,
            other => self.not_there(&id, &other),
        }
    }

    /// Refuses an operation.
    pub(super) fn refuse(
        &self,
        id: &str,
        reply: OperationReply,
        message: String,
        info: CodexErrorInfo,
    ) {
        self.error(id, message.clone(), info);
        reply.send(Err(OperationError::Refused(message)));
    }

    async fn user_input(&mut self, id: String, op: UserInputOp) {
        let overrides = TurnOverrides {
            schema: op.final_output_json_schema,
            service_tier: op.service_tier,
            root_turn_id: op.root_turn_id,
            ..TurnOverrides::default()
        };
        let input = TurnInput {
            items: op.items,
            client_id: op.client_id,
            ..TurnInput::default()
        };
        self.begin_or_steer(id, input, overrides, op.last_response_id)
            .await;
    }

    async fn user_turn(&mut self, id: String, turn: UserTurn) {
        if self.override_settings(&id, &turn).is_err() {
            return;
        }
        let overrides = TurnOverrides {
            schema: turn.final_output_json_schema,
            ..TurnOverrides::default()
        };
        self.begin_or_steer(id, turn.items.into(), overrides, turn.last_response_id)
            .await;
    }

    /// Starts a turn, or gives the input to the running one. For clients of the queue protocol it always starts one.
    async fn begin_or_steer(
        &mut self,
        id: String,
        input: TurnInput,
        overrides: TurnOverrides,
        last_response_id: Option<String>,
    ) {
        if input.is_empty() {
            return self.error(&id, "input must not be empty", CodexErrorInfo::BadRequest);
        }
        let placed = if self.context.config.options.serves_queue {
            InputPlace::NewTurn(Box::new((input, overrides)))
        } else {
            self.place_input(&id, input, overrides, last_response_id.as_deref())
        };
        let InputPlace::NewTurn(begins) = placed else {
            return;
        };
        let (input, overrides) = *begins;
        self.abort(TurnAbortReason::Replaced).await;
        if let Some(response) = last_response_id
            && !self
                .idle()
                .is_some_and(|conversation| conversation.return_to(&response))
        {
            let message = format!("no response with id `{response}` in this session");
            return self.error(&id, message, CodexErrorInfo::BadRequest);
        }
        self.begin(&id, input, overrides).await;
    }

    /// Puts the input where it belongs, unless it begins a turn. What goes on from an earlier response is
    /// not for the turn that runs.
    pub(super) fn place_input(
        &mut self,
        id: &str,
        input: TurnInput,
        overrides: TurnOverrides,
        last_response_id: Option<&str>,
    ) -> InputPlace {
        let busy = self
            .running()
            .is_some_and(|running| running.kind != TaskKind::Regular);
        if busy && self.queued_turns.len() < MAX_WAITING {
            self.queued_turns.push_back(QueuedTurn {
                id: id.to_owned(),
                input,
                overrides,
            });
            return InputPlace::Queued;
        }
        if last_response_id.is_some() {
            return InputPlace::NewTurn(Box::new((input, overrides)));
        }
        match self.put_into_turn(Input::User(Box::new(input))) {
            Ok(running) => InputPlace::Running(running.scope.settings.id.to_string()),
            Err(Input::User(back)) => InputPlace::NewTurn(Box::new((*back, overrides))),
            Err(Input::Hidden(_) | Input::Note(_)) => InputPlace::Queued,
        }
    }

    /// A turn that waited for the end of another one may come too late: if another process has taken the
    /// thread meanwhile, the turn fails.
    pub(super) async fn begin(&mut self, id: &str, input: TurnInput, mut overrides: TurnOverrides) {
        self.abort(TurnAbortReason::Replaced).await;
        if let Err(error) = self.context.emitter.claim() {
            overrides.refused.get_or_insert_with(|| error.to_string());
        }
        let scope = self.new_turn(id, overrides);
        self.start_regular(scope, input).await;
    }

    /// Starts the queued turns after a task has ended.
    pub(super) async fn start_queued(&mut self) {
        while let Some(QueuedTurn {
            id,
            input,
            overrides,
        }) = self.queued_turns.pop_front()
        {
            self.begin_or_steer(id, input, overrides, None).await;
        }
    }

    async fn decide(&mut self, approval: String, decision: ReviewDecision) {
        let abort = decision == ReviewDecision::Abort;
        self.decided(approval, &decision);
        if abort {
            self.stop_turn().await;
        }
    }

    /// Stops the task. Turns that were accepted meanwhile begin.
    async fn stop_turn(&mut self) {
        self.abort(TurnAbortReason::Interrupted).await;
        Box::pin(self.start_queued()).await;
    }

    async fn interrupt(&mut self) {
        if let Some(replay) = &self.context.config.services.replay {
            replay.before_interrupt(self.context.emitter.thread()).await;
        }
        if self.running().is_none() {
            self.base.tool_services.mcp.cancel_starts();
        }
        self.stop_turn().await;
    }

    /// The older operation for settings. It aborts the running task.
    async fn reconfigure(&mut self, id: String, configure: ConfigureSession) {
        self.abort(TurnAbortReason::Replaced).await;
        if self.override_settings(&id, configure).is_ok() {
            let configured = self.configured(None);
            self.context.emitter.emit(&id, configured);
        }
    }

    /// Changes settings for an operation. A refusal is emitted as an error.
    fn override_settings(
        &mut self,
        id: &str,
        patch: impl Into<ThreadSettingsPatch>,
    ) -> Result<(), SettingsError> {
        let changed = self.change_settings(patch.into());
        changed.map(drop).inspect_err(|error| {
            self.error(id, error.to_string(), CodexErrorInfo::BadRequest);
        })
    }

    fn set_name(&self, id: &str, name: &str) {
        let emitter = &self.context.emitter;
        if name.is_empty() {
            return self.error(
                id,
                "Thread name cannot be empty.",
                CodexErrorInfo::BadRequest,
            );
        }
        if emitter.log_path().is_none() {
            let message = "Session persistence is disabled; cannot rename thread.";
            return self.error(id, message, CodexErrorInfo::Other);
        }
        let (home, thread_id) = (
            &self.context.config.services.threads_home,
            emitter.thread().clone(),
        );
        let now = self.context.clock.now();
        if let Err(error) = codex_rollout::set_name(home, &thread_id, name, now) {
            let message = format!("Failed to rename the thread: {error}");
            return self.error(id, message, CodexErrorInfo::Other);
        }
        let thread_name = Some(name.to_owned());
        let renamed = ThreadNameUpdatedEvent {
            thread_id,
            thread_name,
        };
        let renamed = EventMsg::ThreadNameUpdated(renamed);
        // Not every rename event is persisted; one of this thread is.
        emitter.log(LineKind::EventMsg, &renamed);
        emitter.emit(id, renamed);
    }

    fn not_there(&self, id: &str, op: &Op) {
        let name = serde_json::to_value(op).ok();
        let name = name
            .as_ref()
            .and_then(|op| op["type"].as_str())
            .unwrap_or("unknown");
        let message = format!("the operation `{name}` is not supported");
        self.error(id, message, CodexErrorInfo::BadRequest);
    }
}
