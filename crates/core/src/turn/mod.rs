//! A turn: from what a person said until nothing follows.
//!
//! It runs on a task of its own and owns the conversation meanwhile. The body can be stopped at any
//! point where it waits, because everything that it changes it changes between two waits; the
//! conversation is handed back whatever happens, and the guard says the end.

mod calls;
mod diff;
mod guard;
mod image;
mod input_queue;
mod items;
mod message;
mod plan_text;
mod response;
mod retry;
mod sampling;
mod settings;
mod text_filter;
mod turn_emitter;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use codex_protocol::{
    CodexErrorInfo, ErrorEvent, EventMsg, FunctionCallOutputItem, ResponseItem, TurnAbortReason,
    TurnItem, WarningEvent,
};
use codex_rollout::LineKind;
use futures::FutureExt;

use crate::context;
use crate::conversation::{Conversation, Recorder};
use crate::events::HeldEvents;
use crate::git::Git;
use crate::history::CLIENT_CALL;
use crate::mcp::SandboxState;
use crate::ports::{EndedTurn, ModelError};
use crate::session::Services;
use crate::snapshot;
use crate::tools::{McpTools, ToolSet};

pub(crate) use calls::{ToolCall, ToolPayload};
pub(crate) use diff::TurnDiffTracker;
pub(crate) use guard::TurnGuard;
pub(crate) use input_queue::{Input, InputQueue, StopSignal};
pub use input_queue::{ToolOutput, TurnInput};
pub(crate) use items::assistant_text;
pub(crate) use retry::delay as retry_delay;
pub(crate) use settings::{TurnSettings, TurnTools};
pub(crate) use turn_emitter::TurnEmitter;

/// How long an abort waits for the disk.
const ABORT_FLUSH: Duration = Duration::from_millis(100);

/// Everything that a turn works with, except the conversation.
#[derive(Clone, Debug)]
pub(crate) struct TurnScope {
    pub(crate) settings: Arc<TurnSettings>,
    pub(crate) services: Arc<Services>,
    pub(crate) input_queue: Arc<InputQueue>,
    pub(crate) stop: StopSignal,
    pub(crate) diff: TurnDiffTracker,
}

impl TurnScope {
    pub(crate) fn emitter(&self) -> TurnEmitter {
        TurnEmitter::new(self.services.emitter.clone(), Arc::clone(&self.settings.id))
    }
}

/// Why a turn goes no further.
#[derive(Debug)]
pub(crate) enum TurnError {
    /// It was told to stop.
    Stopped,
    /// The model cannot be used.
    Failed(ModelError),
}

/// What a turn came to.
#[derive(Debug, Default)]
pub(crate) struct CompletedTurn {
    pub(crate) last_agent_message: Option<String>,
    pub(crate) response_id: Option<String>,
}

/// Runs a regular turn and hands the conversation back.
pub(crate) async fn run_regular(
    scope: TurnScope,
    mut conversation: Conversation,
    input: TurnInput,
) -> Conversation {
    let emitter = scope.emitter();
    if scope.settings.model.is_guess {
        let message = format!(
            "The model `{}` is not in the catalogue: its context window and abilities are \
             assumed.",
            scope.settings.model.slug
        );
        emitter.emit(EventMsg::Warning(WarningEvent { message }));
    }
    let guard = TurnGuard::start(&scope);
    if let Some(message) = scope.settings.refused.clone() {
        emitter.emit(EventMsg::Error(ErrorEvent {
            message,
            codex_error_info: Some(CodexErrorInfo::BadRequest),
        }));
    }
    let body = Turn {
        scope: &scope,
        emitter: &emitter,
        conversation: &mut conversation,
    };
    let ended = AssertUnwindSafe(body.run(input)).catch_unwind().await;
    let ended = ended.unwrap_or_else(|_| Err(panicked()));
    let notice = match (&scope.services.config.turn_ended, &ended) {
        (Some(listener), Ok(completed)) => Some((
            Arc::clone(listener),
            ended_turn(&scope, &conversation, completed),
        )),
        _ => None,
    };
    finish(&scope, &mut conversation, guard, ended).await;
    if let Some((listener, turn)) = notice {
        listener.ended(turn);
    }
    conversation
}

fn ended_turn(
    scope: &TurnScope,
    conversation: &Conversation,
    completed: &CompletedTurn,
) -> EndedTurn {
    EndedTurn {
        thread: scope.services.emitter.thread().to_string(),
        turn: scope.settings.id.to_string(),
        cwd: scope.settings.cwd.display().to_string(),
        client: Some(scope.services.config.originator.clone()),
        input_messages: context::summary::user_texts(&conversation.history),
        last_agent_message: completed.last_agent_message.clone(),
    }
}

pub(crate) fn panicked() -> TurnError {
    TurnError::Failed(ModelError {
        message: "Fatal error: the turn ended unexpectedly".to_owned(),
        info: CodexErrorInfo::Other,
        retry: crate::ports::Retry::Never,
        http_status: None,
        invalid_image: false,
    })
}

/// Says how a turn ended. It is told once it is on disk: a turn that somebody saw complete is complete
/// after a crash.
pub(crate) async fn finish(
    scope: &TurnScope,
    conversation: &mut Conversation,
    guard: TurnGuard,
    ended: Result<CompletedTurn, TurnError>,
) {
    let emitter = scope.emitter();
    match ended {
        Ok(completed) => {
            let held = scope.services.emitter.hold_events();
            guard.complete(completed);
            saved(scope, held).await;
        }
        Err(TurnError::Failed(error)) => {
            emit_failure(&emitter, error);
            finish_failed(scope, conversation, guard).await;
        }
        Err(TurnError::Stopped) => {
            let left = scope.input_queue.close();
            let reason = scope.stop.reason();
            if reason == TurnAbortReason::Interrupted {
                let recorder = Recorder {
                    raw_items: false,
                    ..recorder(scope)
                };
                conversation.record(context::turn_aborted_marker(), &recorder);
            }
            for input in left {
                // What a person said to the turn is dropped with it; what the engine has to tell stands.
                if let Input::Hidden(item) = input {
                    conversation.record(*item, &recorder(scope));
                }
            }
            let held = scope.services.emitter.hold_events();
            guard.abort(reason);
            tokio::select! {
                () = saved(scope, held) => {}
                () = scope.services.clock.sleep(ABORT_FLUSH) => {}
            }
        }
    }
}

pub(crate) fn emit_failure(emitter: &TurnEmitter, error: ModelError) {
    emitter.emit(EventMsg::Error(ErrorEvent {
        message: error.message,
        codex_error_info: Some(error.info),
    }));
}

/// Says that a turn ended whose failure has been said.
pub(crate) async fn finish_failed(
    scope: &TurnScope,
    conversation: &mut Conversation,
    guard: TurnGuard,
) {
    record_leftovers(scope, conversation).await;
    let held = scope.services.emitter.hold_events();
    guard.complete(CompletedTurn::default());
    saved(scope, held).await;
}

/// What came in too late for the model is still part of the conversation.
async fn record_leftovers(scope: &TurnScope, conversation: &mut Conversation) {
    let emitter = scope.emitter();
    for input in scope.input_queue.close() {
        let mut turn = Turn {
            scope,
            emitter: &emitter,
            conversation,
        };
        turn.record_input(input).await;
    }
}

/// Lets what is held be told once it is on disk, or with the reason why it is not.
async fn saved(scope: &TurnScope, held: HeldEvents) {
    if let Err(error) = scope.services.emitter.flush().await {
        let message = format!("The conversation could not be saved: {error}");
        let warning = EventMsg::Warning(WarningEvent { message });
        held.emit_first(scope.emitter().turn_id(), warning);
    }
}

pub(crate) fn recorder(scope: &TurnScope) -> Recorder<'_> {
    Recorder {
        emitter: &scope.services.emitter,
        turn: &scope.settings.id,
        policy: scope.settings.model.truncation,
        raw_items: scope.services.config.raw_items,
    }
}

/// A running turn.
pub(crate) struct Turn<'a> {
    pub(crate) scope: &'a TurnScope,
    pub(crate) emitter: &'a TurnEmitter,
    pub(crate) conversation: &'a mut Conversation,
}

impl Turn<'_> {
    /// From the input until nothing follows.
    pub(crate) async fn run(mut self, input: TurnInput) -> Result<CompletedTurn, TurnError> {
        self.conversation.usage.reasoning_included = false;
        self.find_skills().await;
        let compacted = self
            .compact_if_full(crate::compact::CompactionPhase::BeforeTurn)
            .await;
        self.record_context();
        self.record_input(Input::User(Box::new(input))).await;
        crate::repository::materialise(&self.scope.services);
        compacted?;
        self.take_snapshot().await?;
        self.wait_for_servers().await?;
        loop {
            for input in self.scope.input_queue.take() {
                self.record_input(input).await;
            }
            let sampled = self.sample().await?;
            if sampled.follow_up {
                self.compact_if_full(crate::compact::CompactionPhase::MidTurn)
                    .await?;
                continue;
            }
            if self.scope.input_queue.close_if_empty() {
                return Ok(sampled.completed);
            }
        }
    }

    /// What the model is offered is known once every MCP server has started, or failed to.
    async fn wait_for_servers(&self) -> Result<(), TurnError> {
        let TurnScope {
            services, settings, ..
        } = self.scope;
        let servers = services.mcp.current();
        if servers.is_empty() {
            return Ok(());
        }
        let sandbox = SandboxState::of(&settings.sandbox_policy, &settings.cwd);
        let settled = async {
            let tools = servers.offered().await;
            servers.send_sandbox_state(&sandbox).await;
            tools
        };
        let tools = tokio::select! {
            biased;
            () = self.scope.stop.stopped() => return Err(TurnError::Stopped),
            tools = settled => tools,
        };
        let mcp = McpTools {
            has_servers: true,
            tools,
        };
        let all = ToolSet::new(services, &mcp, &settings.model, &settings.sandbox_policy);
        settings.tools.complete(Arc::new(all));
        Ok(())
    }

    /// Notes how the files are before the model changes any. Where that cannot be, it is not done.
    async fn take_snapshot(&mut self) -> Result<(), TurnError> {
        let services = &self.scope.services;
        let Some(limits) = services.config.snapshots else {
            return Ok(());
        };
        let git = Git::new(services, &self.scope.settings.cwd);
        if !git.is_repository() {
            return Ok(());
        }
        let capturing = snapshot::capture(&git, limits);
        let capturing = snapshot::warn_if_slow(capturing, services.clock.as_ref(), |message| {
            if !limits.quiet {
                self.emitter
                    .emit(EventMsg::Warning(WarningEvent { message }));
            }
        });
        let taken = tokio::select! {
            biased;
            () = self.scope.stop.stopped() => return Err(TurnError::Stopped),
            taken = capturing => taken,
        };
        let Some(snapshot::TreeSnapshot { commit, left_out }) = taken else {
            tracing::warn!("no snapshot of the working tree was taken");
            return Ok(());
        };
        if !left_out.is_empty() && !limits.quiet {
            let first = left_out.iter().take(3).cloned().collect::<Vec<_>>();
            let message = format!(
                "{} untracked files or folders are too large to be undone: {}",
                left_out.len(),
                first.join(", ")
            );
            self.emitter
                .emit(EventMsg::Warning(WarningEvent { message }));
        }
        let ghost_commit = commit;
        self.record(ResponseItem::GhostSnapshot { ghost_commit });
        Ok(())
    }

    /// Tells the model what it has to know before the next message.
    pub(crate) fn record_context(&mut self) {
        let settings = &self.scope.settings;
        let previous = self.conversation.previous_model.take();
        let items = match &self.conversation.reference {
            None => context::initial(settings, previous.as_deref()),
            Some(reference) => context::updates(settings, reference, previous.as_deref()),
        };
        for item in items {
            self.record(item);
        }
        let reference = context::turn_context(settings);
        self.scope
            .services
            .emitter
            .log(LineKind::TurnContext, &reference);
        self.conversation.reference = Some(reference);
        self.conversation.previous_model = Some(settings.model.slug.clone());
    }

    pub(crate) async fn record_input(&mut self, input: Input) {
        match input {
            Input::User(mut input) => {
                if let Some(output) = input.tool_output.take() {
                    self.record_tool_output(output);
                }
                if input.items.is_empty() {
                    return;
                }
                let message = context::message_of(&input.items).await;
                self.record(message);
                let skills = self.texts_of_skills(&input.items).await;
                self.emitter
                    .user_message(self.scope.services.ids.item(), *input);
                for text in skills {
                    self.record(text);
                }
            }
            Input::Hidden(item) => self.record(*item),
        }
    }

    /// The model reads it as the output of a call: services take an output with its call only.
    fn record_tool_output(&mut self, answered: input_queue::ToolOutput) {
        let id = self.scope.services.ids.item();
        let call_id = format!("{CLIENT_CALL}{id}");
        self.record(ResponseItem::FunctionCall {
            id: None,
            name: answered.name.clone(),
            namespace: answered.namespace.clone(),
            arguments: "{}".to_owned(),
            call_id: call_id.clone(),
        });
        self.record(ResponseItem::FunctionCallOutput {
            call_id,
            output: answered.output.clone(),
        });
        let item = TurnItem::FunctionCallOutput(FunctionCallOutputItem {
            id,
            name: answered.name,
            namespace: answered.namespace,
            output: answered.output,
        });
        self.emitter.item_started(item.clone());
        self.emitter.item_completed(item, false);
    }

    pub(crate) fn record(&mut self, item: ResponseItem) {
        self.conversation.record(item, &recorder(self.scope));
    }
}
