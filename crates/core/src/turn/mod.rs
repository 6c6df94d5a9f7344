//! A turn: from what a person said until nothing follows.
//!
//! It runs on a task of its own and owns the conversation meanwhile. The body can be stopped at any
//! point where it waits, because everything that it changes it changes between two waits; the
//! conversation is handed back whatever happens, and the guard says the end.

mod calls;
mod diff;
mod guard;
mod image;
mod inbox;
mod items;
mod message;
mod plan_text;
mod response;
mod retry;
mod sampling;
mod settings;
mod text_filter;
mod voice;

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
use crate::events::Withheld;
use crate::git::Git;
use crate::history::CLIENT_CALL;
use crate::mcp::SandboxState;
use crate::ports::{EndedTurn, ModelError};
use crate::session::Services;
use crate::snapshot;
use crate::tools::{McpTools, ToolSet};

pub(crate) use calls::{Call, Payload};
pub(crate) use diff::DiffOfTurn;
pub(crate) use guard::TurnGuard;
pub(crate) use inbox::{Inbox, Input, Stop};
pub use inbox::{Said, ToolOutput};
pub(crate) use items::assistant_text;
pub(crate) use retry::delay as retry_delay;
pub(crate) use settings::{TurnSettings, TurnTools};
pub(crate) use voice::Voice;

/// How long an abort waits for the disk.
const ABORT_FLUSH: Duration = Duration::from_millis(100);

/// Everything that a turn works with, except the conversation.
#[derive(Clone, Debug)]
pub(crate) struct TurnScope {
    pub(crate) settings: Arc<TurnSettings>,
    pub(crate) services: Arc<Services>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) stop: Stop,
    pub(crate) diff: DiffOfTurn,
}

impl TurnScope {
    pub(crate) fn voice(&self) -> Voice {
        Voice::new(self.services.emitter.clone(), Arc::clone(&self.settings.id))
    }
}

/// Why a turn goes no further.
#[derive(Debug)]
pub(crate) enum Halt {
    /// It was told to stop.
    Stopped,
    /// The model cannot be used.
    Failed(ModelError),
}

/// What a turn came to.
#[derive(Debug, Default)]
pub(crate) struct Completed {
    pub(crate) last_agent_message: Option<String>,
    pub(crate) response_id: Option<String>,
}

/// Runs a regular turn and hands the conversation back.
pub(crate) async fn run_regular(
    scope: TurnScope,
    mut conversation: Conversation,
    input: Said,
) -> Conversation {
    let voice = scope.voice();
    if scope.settings.model.is_guess {
        let message = format!(
            "The model `{}` is not in the catalogue: its context window and abilities are \
             assumed.",
            scope.settings.model.slug
        );
        voice.say(EventMsg::Warning(WarningEvent { message }));
    }
    let guard = TurnGuard::start(&scope);
    if let Some(message) = scope.settings.refused.clone() {
        voice.say(EventMsg::Error(ErrorEvent {
            message,
            codex_error_info: Some(CodexErrorInfo::BadRequest),
        }));
    }
    let body = Turn {
        scope: &scope,
        voice: &voice,
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

fn ended_turn(scope: &TurnScope, conversation: &Conversation, completed: &Completed) -> EndedTurn {
    EndedTurn {
        thread: scope.services.emitter.thread().to_string(),
        turn: scope.settings.id.to_string(),
        cwd: scope.settings.cwd.display().to_string(),
        client: Some(scope.services.config.originator.clone()),
        input_messages: context::summary::user_texts(&conversation.history),
        last_agent_message: completed.last_agent_message.clone(),
    }
}

pub(crate) fn panicked() -> Halt {
    Halt::Failed(ModelError {
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
    ended: Result<Completed, Halt>,
) {
    let voice = scope.voice();
    match ended {
        Ok(completed) => {
            let withheld = scope.services.emitter.withhold();
            guard.complete(completed);
            saved(scope, withheld).await;
        }
        Err(Halt::Failed(error)) => {
            say_failure(&voice, error);
            finish_failed(scope, conversation, guard).await;
        }
        Err(Halt::Stopped) => {
            let left = scope.inbox.close();
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
                if let Input::Silent(item) = input {
                    conversation.record(*item, &recorder(scope));
                }
            }
            let withheld = scope.services.emitter.withhold();
            guard.abort(reason);
            tokio::select! {
                () = saved(scope, withheld) => {}
                () = scope.services.clock.sleep(ABORT_FLUSH) => {}
            }
        }
    }
}

pub(crate) fn say_failure(voice: &Voice, error: ModelError) {
    voice.say(EventMsg::Error(ErrorEvent {
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
    let withheld = scope.services.emitter.withhold();
    guard.complete(Completed::default());
    saved(scope, withheld).await;
}

/// What came in too late for the model is still part of the conversation.
async fn record_leftovers(scope: &TurnScope, conversation: &mut Conversation) {
    let voice = scope.voice();
    for input in scope.inbox.close() {
        let mut turn = Turn {
            scope,
            voice: &voice,
            conversation,
        };
        turn.record_input(input).await;
    }
}

/// Lets what is held be told once it is on disk, or with the reason why it is not.
async fn saved(scope: &TurnScope, withheld: Withheld) {
    if let Err(error) = scope.services.emitter.flush().await {
        let message = format!("The conversation could not be saved: {error}");
        let warning = EventMsg::Warning(WarningEvent { message });
        withheld.say_first(scope.voice().turn(), warning);
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
    pub(crate) voice: &'a Voice,
    pub(crate) conversation: &'a mut Conversation,
}

impl Turn<'_> {
    /// From the input until nothing follows.
    pub(crate) async fn run(mut self, input: Said) -> Result<Completed, Halt> {
        self.conversation.usage.reasoning_included = false;
        self.find_skills().await;
        let compacted = self
            .compact_if_full(crate::compact::Phase::BeforeTurn)
            .await;
        self.record_context();
        self.record_input(inbox::Input::Said(Box::new(input))).await;
        crate::repository::materialise(&self.scope.services);
        compacted?;
        self.take_snapshot().await?;
        self.wait_for_servers().await?;
        loop {
            for input in self.scope.inbox.take() {
                self.record_input(input).await;
            }
            let sampled = self.sample().await?;
            if sampled.follow_up {
                self.compact_if_full(crate::compact::Phase::MidTurn).await?;
                continue;
            }
            if self.scope.inbox.close_if_empty() {
                return Ok(sampled.completed);
            }
        }
    }

    /// What the model is offered is known once every MCP server has started, or failed to.
    async fn wait_for_servers(&self) -> Result<(), Halt> {
        let TurnScope {
            services, settings, ..
        } = self.scope;
        let servers = services.mcp.now();
        if servers.is_empty() {
            return Ok(());
        }
        let sandbox = SandboxState::of(&settings.sandbox_policy, &settings.cwd);
        let settled = async {
            let tools = servers.offered().await;
            servers.tell_sandbox(&sandbox).await;
            tools
        };
        let tools = tokio::select! {
            biased;
            () = self.scope.stop.stopped() => return Err(Halt::Stopped),
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
    async fn take_snapshot(&mut self) -> Result<(), Halt> {
        let services = &self.scope.services;
        let Some(limits) = services.config.snapshots else {
            return Ok(());
        };
        let git = Git::new(services, &self.scope.settings.cwd);
        if !git.is_repository() {
            return Ok(());
        }
        let capturing = snapshot::capture(&git, limits);
        let capturing = snapshot::tell_if_slow(capturing, services.clock.as_ref(), |message| {
            if !limits.quiet {
                self.voice.say(EventMsg::Warning(WarningEvent { message }));
            }
        });
        let taken = tokio::select! {
            biased;
            () = self.scope.stop.stopped() => return Err(Halt::Stopped),
            taken = capturing => taken,
        };
        let Some(snapshot::Snapshot { commit, left_out }) = taken else {
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
            self.voice.say(EventMsg::Warning(WarningEvent { message }));
        }
        let ghost_commit = commit;
        self.record(ResponseItem::GhostSnapshot { ghost_commit });
        Ok(())
    }

    /// Tells the model what it has to know before the next message.
    pub(crate) fn record_context(&mut self) {
        let settings = &self.scope.settings;
        let previous = self.conversation.previous_model.take();
        let items = match &self.conversation.told {
            None => context::initial(settings, previous.as_deref()),
            Some(told) => context::updates(settings, told, previous.as_deref()),
        };
        for item in items {
            self.record(item);
        }
        let told = context::told(settings);
        self.scope
            .services
            .emitter
            .log(LineKind::TurnContext, &told);
        self.conversation.told = Some(told);
        self.conversation.previous_model = Some(settings.model.slug.clone());
    }

    pub(crate) async fn record_input(&mut self, input: inbox::Input) {
        match input {
            inbox::Input::Said(mut said) => {
                if let Some(output) = said.tool_output.take() {
                    self.record_tool_output(output);
                }
                if said.items.is_empty() {
                    return;
                }
                let message = context::message_of(&said.items).await;
                self.record(message);
                let skills = self.texts_of_skills(&said.items).await;
                self.voice
                    .user_message(self.scope.services.ids.item(), *said);
                for text in skills {
                    self.record(text);
                }
            }
            inbox::Input::Silent(item) => self.record(*item),
        }
    }

    /// The model reads it as the output of a call: services take an output with its call only.
    fn record_tool_output(&mut self, answered: inbox::ToolOutput) {
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
        self.voice.item_started(item.clone());
        self.voice.item_completed(item, false);
    }

    pub(crate) fn record(&mut self, item: ResponseItem) {
        self.conversation.record(item, &recorder(self.scope));
    }
}
