//! Running a regular turn.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use codex_model_client::{FactsSource, ModelError};
use codex_protocol::{CodexErrorInfo, ErrorEvent, EventMsg, UserInput, WarningEvent};
use codex_session_base::config::{EndedTurn, within_limits};
use codex_session_base::context;
use codex_session_base::history::{Conversation, summary};
use codex_session_base::input::{Input, TurnInput};
use codex_session_base::mcp::SandboxState;
use codex_session_base::turn_settings::with_overrides;
use codex_tools::{McpTools, ToolEnvironments, ToolSet, ToolSituation};
use futures::FutureExt;

use super::compact::CompactionPhase;
use super::finish::finish;
use super::guard::TurnGuard;
use super::hooks::{HookVerdict, TurnEndVerdict};
use super::next_step::StepChange;
use super::outcome::{CompletedTurn, TurnError, panicked};
use super::recording::RunningTurn;
use super::scope::TurnScope;
use crate::git;

/// So many cut answers in a row end a turn: a model whose calls never fit would be asked for ever.
const MAX_CUT_ANSWERS: u32 = 5;

/// What people should know of a model that is not in the catalogue. What its family is, is said once in a session.
fn unknown_model(scope: &TurnScope) -> Option<String> {
    let slug = &scope.settings.model.slug;
    let assumed = match &scope.settings.model_facts {
        FactsSource::Catalog => return None,
        FactsSource::Assumed => "are assumed".to_owned(),
        FactsSource::Family(relative) => {
            let is_new = scope.session.models_told_of.lock().insert(slug.clone());
            is_new.then(|| format!("are taken to be those of `{relative}`"))?
        }
    };
    Some(format!(
        "The model `{slug}` is not in the catalogue: its context window and abilities {assumed}. The setting \
         `model_context_window` says what its window is, and `model_catalog_json` everything."
    ))
}

/// Runs a regular turn and returns the conversation.
pub(crate) async fn run_regular(
    scope: TurnScope,
    mut conversation: Conversation,
    input: TurnInput,
) -> Conversation {
    let emitter = scope.emitter();
    if let Some(message) = unknown_model(&scope) {
        emitter.emit(EventMsg::Warning(WarningEvent { message }));
    }
    let guard = TurnGuard::start(&scope);
    if let Some(message) = scope.settings.refused.clone() {
        emitter.emit(EventMsg::Error(ErrorEvent {
            message,
            codex_error_info: Some(CodexErrorInfo::BadRequest),
            exceeded_limit: None,
        }));
    }
    scope.checkpoint.set_label(&label_of(&input));
    let body = RunningTurn {
        scope: &scope,
        emitter: &emitter,
        conversation: &mut conversation,
    };
    let ended = {
        let work = AssertUnwindSafe(body.run(input)).catch_unwind();
        let work = pin!(work.map(|ended| ended.unwrap_or_else(|_| Err(panicked()))));
        scope.in_time(work).await
    };
    finish_and_notify(&scope, &mut conversation, guard, ended).await;
    conversation
}

/// Ends a turn, and notifies the listener of the configuration if it completed.
pub(super) async fn finish_and_notify(
    scope: &TurnScope,
    conversation: &mut Conversation,
    guard: TurnGuard,
    ended: Result<CompletedTurn, TurnError>,
) {
    let notice = match (&scope.session.config.services.turn_ended, &ended) {
        (Some(listener), Ok(completed)) if !completed.stopped_by_hook => Some((
            Arc::clone(listener),
            ended_turn(scope, conversation, completed),
        )),
        _ => None,
    };
    finish(scope, conversation, guard, ended).await;
    if let Some((listener, turn)) = notice {
        listener.ended(turn);
    }
}

/// What the user asked for, for the checkpoint of the turn.
fn label_of(input: &TurnInput) -> String {
    let texts = input.items.iter().filter_map(|item| match item {
        UserInput::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(" ")
}

fn ended_turn(
    scope: &TurnScope,
    conversation: &Conversation,
    completed: &CompletedTurn,
) -> EndedTurn {
    EndedTurn {
        thread: scope.session.emitter.thread().to_string(),
        turn: scope.settings.id.to_string(),
        cwd: scope.settings.cwd.display().to_string(),
        client: Some(scope.session.config.identity.originator.clone()),
        input_messages: summary::user_texts(&conversation.history),
        last_agent_message: completed.last_agent_message.clone(),
    }
}

impl RunningTurn<'_> {
    /// Runs until the model makes no more calls and no input waits.
    pub(crate) async fn run(mut self, input: TurnInput) -> Result<CompletedTurn, TurnError> {
        self.check_mounts().await?;
        self.conversation.usage.reasoning_included = false;
        self.read_instructions().await;
        self.find_skills().await;
        self.find_apps(&input.items).await;
        let compacted = self.compact_if_full(CompactionPhase::BeforeTurn).await;
        self.record_context();
        let mut verdict = self.begin_session().await?;
        if verdict == HookVerdict::Accepted {
            verdict = self.submit(Input::User(Box::new(input))).await?;
        }
        if verdict == HookVerdict::Refused && self.scope.refuse_input_if_none_waits() {
            return Ok(CompletedTurn::stopped_by_hook());
        }
        git::materialise(&self.scope.session);
        compacted?;
        self.wait_for_servers().await?;
        self.sample_until_done().await
    }

    /// Reads the instruction files again, if the model is told of changes.
    async fn read_instructions(&self) {
        let settings = &self.scope.settings;
        let session = &self.scope.session;
        let files = session.config.services.instruction_files.clone();
        self.learn_shells().await;
        if let Some(replay) = &session.config.services.replay {
            if let Some(recorded) = replay.instructions(session.emitter.thread()) {
                let text = context::present_instructions(&recorded).map(Arc::from);
                let _ = settings.current_instructions.set(text);
            }
            return;
        }
        if let Some(first) = settings.first_elsewhere() {
            return self.read_instructions_there(first).await;
        }
        let Some(files) = files.filter(|files| files.are_followed()) else {
            return;
        };
        let cwd = settings.has_environment.then(|| settings.cwd.clone());
        let reading = codex_mounts::look_at_files(move || files.read(cwd.as_deref()));
        if let Some(text) = reading.await {
            let _ = settings.current_instructions.set(text.map(Arc::from));
        }
    }

    /// Without its folder, a turn could do nothing.
    async fn check_mounts(&self) -> Result<(), TurnError> {
        if self.scope.settings.first_elsewhere().is_some() {
            return Ok(());
        }
        codex_mounts::try_all().await;
        let checked = codex_mounts::check_async(&self.scope.settings.cwd).await;
        checked.map_err(|error| TurnError::Failed {
            message: format!("the working folder cannot be used: {error}"),
            info: CodexErrorInfo::BadRequest,
        })
    }

    /// Asks the model until it makes no more calls and no input waits.
    pub(super) async fn sample_until_done(self) -> Result<CompletedTurn, TurnError> {
        let (mut continuations, mut cut_answers) = (0, 0);
        let mut changed = None;
        loop {
            let change = self.scope.next_step.take();
            let change = change.map(|change| {
                let scope = changed.as_ref().unwrap_or(self.scope);
                let other_model = change.model.is_some();
                changed = Some(scope.with_change(change));
                other_model
            });
            let mut step = RunningTurn {
                scope: changed.as_ref().unwrap_or(self.scope),
                emitter: self.emitter,
                conversation: &mut *self.conversation,
            };
            if let Some(other_model) = change {
                step.adopt_change(other_model).await?;
            }
            if let Some(completed) = step.step(&mut continuations, &mut cut_answers).await? {
                return Ok(completed);
            }
        }
    }

    /// Asks the model once and makes its calls. Returns the end of the turn, if this is it.
    async fn step(
        &mut self,
        continuations: &mut u32,
        cut_answers: &mut u32,
    ) -> Result<Option<CompletedTurn>, TurnError> {
        let verdict = self.take_waiting().await?;
        if verdict == HookVerdict::Refused && self.scope.refuse_input_if_none_waits() {
            return Ok(Some(CompletedTurn::stopped_by_hook()));
        }
        let before = self.conversation.history.len();
        let sampled = match self.sample().await {
            Err(TurnError::Model(error)) if self.fall_back(&error) => return Ok(None),
            sampled => sampled?,
        };
        *cut_answers = if sampled.is_cut { *cut_answers + 1 } else { 0 };
        let goes_on = *cut_answers < MAX_CUT_ANSWERS;
        if sampled.follow_up && goes_on {
            self.record_entered_folders(before).await;
            self.compact_if_full(CompactionPhase::MidTurn).await?;
            return Ok(None);
        }
        let verdict = self.may_end(&sampled.completed, continuations).await?;
        let ends = verdict != TurnEndVerdict::GoOn && self.scope.refuse_input_if_none_waits();
        if ends {
            if sampled.follow_up {
                let message = format!(
                    "The turn ends here, because {MAX_CUT_ANSWERS} answers in a row were cut."
                );
                self.emitter
                    .emit(EventMsg::Warning(WarningEvent { message }));
            }
            self.compact_after_turn().await?;
        }
        Ok(ends.then(|| CompletedTurn {
            stopped_by_hook: verdict == TurnEndVerdict::Stop,
            ..sampled.completed
        }))
    }

    /// Whether a fallback has not been tried.
    pub(super) fn has_fallback(&self) -> bool {
        let fallbacks = &self.scope.session.config.options.model_fallbacks;
        let taken = self.scope.fallbacks_taken.load(Ordering::Relaxed);
        let failed = &self.scope.settings.model.slug;
        fallbacks.iter().skip(taken).any(|next| next != failed)
    }

    /// Has the next fallback go on with the turn, if the failure is one of the model and there is one.
    fn fall_back(&self, error: &ModelError) -> bool {
        let config = &self.scope.session.config;
        let fallbacks = &config.options.model_fallbacks;
        let failed = &self.scope.settings.model.slug;
        if !error.concerns_model() {
            return false;
        }
        let taken = || self.scope.fallbacks_taken.fetch_add(1, Ordering::Relaxed);
        let mut left = std::iter::from_fn(|| fallbacks.get(taken()));
        let Some(next) = left.find(|next| *next != failed) else {
            return false;
        };
        let message =
            format!("The model `{failed}` cannot go on: {error} The turn goes on with `{next}`.");
        self.emitter
            .emit(EventMsg::Warning(WarningEvent { message }));
        let model = with_overrides(self.scope.model.resolve(next), config);
        self.scope.next_step.add(StepChange {
            model: Some(model.info),
            ..StepChange::default()
        });
        true
    }

    /// Tells the model what a client has changed, and offers it the tools that follow from that.
    async fn adopt_change(&mut self, other_model: bool) -> Result<(), TurnError> {
        if other_model {
            self.compact_if_full(CompactionPhase::MidTurn).await?;
        }
        self.record_news();
        self.complete_tools(&McpTools::default());
        self.wait_for_servers().await
    }

    /// Takes the input that waits. Apps that it mentions offer their tools from the next request on.
    async fn take_waiting(&mut self) -> Result<HookVerdict, TurnError> {
        let selected = || self.scope.tool_services.selected_apps.lock().len();
        let before = selected();
        let verdict = self.submit_waiting().await?;
        if selected() != before {
            self.wait_for_servers().await?;
        }
        Ok(verdict)
    }

    /// Waits until every MCP server has started or failed, and adds their tools.
    pub(super) async fn wait_for_servers(&self) -> Result<(), TurnError> {
        let TurnScope {
            session,
            tool_services,
            settings,
            ..
        } = self.scope;
        let replay = session.config.services.replay.as_ref();
        if let Some(recorded) = replay.and_then(|replay| replay.mcp_tools(session.emitter.thread()))
        {
            self.complete_tools(&McpTools::recorded(recorded));
            return Ok(());
        }
        let servers = tool_services.mcp.current();
        if servers.is_empty() {
            return Ok(());
        }
        let policy = within_limits(&settings.sandbox_policy, &settings.network_limits);
        let sandbox = SandboxState::from_policy(&policy, &settings.cwd);
        let settled = async {
            let tools = servers.offered(settings).await;
            servers.send_sandbox_state(&sandbox).await;
            tools
        };
        let tools = tokio::select! {
            biased;
            () = self.scope.stop.stopped() => return Err(TurnError::Stopped),
            tools = settled => tools,
        };
        let searches =
            session.config.options.features.tool_search && settings.model.supports_search_tool;
        let selected = tool_services.selected_apps.lock().clone();
        let suggestions = self.suggestions(&tools).await;
        self.complete_tools(&McpTools {
            suggestions,
            ..McpTools::of_servers(tools, searches, &selected)
        });
        Ok(())
    }

    fn complete_tools(&self, mcp: &McpTools) {
        let TurnScope {
            session,
            tool_services,
            settings,
            ..
        } = self.scope;
        let all = ToolSet::new(&ToolSituation {
            config: &session.config,
            services: tool_services,
            mcp,
            model: &settings.model,
            policy: &settings.sandbox_policy,
            environments: ToolEnvironments::from_choices(
                settings.has_environment,
                &settings.environments,
            ),
        });
        self.scope.tools.replace(Arc::new(all));
    }
}
