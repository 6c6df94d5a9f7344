//! Selects the hooks of an event and runs them.

use std::sync::Arc;

use codex_hooks::{
    EventInput, Hook, HookAction, OnError, RunEnd, RunResult, fill_placeholders, interpret,
    scope_of,
};
use codex_protocol::{
    HookEventName, HookExecutionMode, HookHandlerType, HookRunStatus, HookRunSummary, HookSource,
};
use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use serde_json::Value;

use super::command::HookCommand;
use super::effects::HookResults;
use super::occasion::HookOccasion;
use super::run_events::ActiveRuns;
use crate::config::{ClientHook, ClientHookCall, ClientHookError, FinishedHook, HooksRun};
use crate::session_context::SessionContext;

/// A hook that is about to run.
struct SelectedHook {
    run: HookRunSummary,
    on_error: OnError,
    context_limit: Option<u64>,
    result: BoxFuture<'static, RunResult>,
}

impl SessionContext {
    /// Whether an event has hooks. Where it has none, nothing about it needs to be worked out.
    pub fn has_hooks(&self, event: HookEventName) -> bool {
        let config = &self.config;
        !config.services.hooks.of_event(event).is_empty()
            || config
                .services
                .client_hooks
                .as_ref()
                .is_some_and(|clients| clients.has_hooks(self.emitter.thread().as_str(), event))
            || config
                .services
                .replay
                .as_ref()
                .is_some_and(|replay| replay.has_hooks(event))
    }
}

impl HookOccasion<'_> {
    /// Runs the hooks of an event at the same time and waits for all of them.
    pub async fn run_hooks(&self, event: &EventInput<'_>) -> HookResults {
        let name = event.event();
        if !self.session.has_hooks(name) {
            return HookResults::default();
        }
        if let Some(replay) = &self.session.config.services.replay {
            let thread = self.session.emitter.thread();
            return HookResults(replay.hooks(thread, name, event.call_id()));
        }
        let input = self.input(event);
        let mut selected = self.select(event, &input);
        selected.extend(self.select_of_clients(event, &input));
        if selected.is_empty() {
            return HookResults::default();
        }
        let clock = &self.session.clock;
        let summaries = selected.iter().map(|hook| hook.run.clone());
        let mut active = ActiveRuns::begin(&self.session.emitter, clock, self.turn, summaries);
        let running = selected.into_iter().map(|hook| async move {
            let began = clock.elapsed();
            let result = hook.result.await;
            let took = clock.elapsed().saturating_sub(began);
            let outcome = interpret(name, hook.on_error, &result);
            (hook.run.id, hook.context_limit, outcome, took)
        });
        let mut results = Vec::new();
        for (run_id, context_limit, outcome, took) in join_all(running).await {
            active.end(&outcome, took);
            results.push(FinishedHook {
                run_id,
                context_limit,
                effects: outcome.effects,
            });
        }
        if let Some(observer) = self.session.emitter.observer() {
            observer.hooks_ran(&HooksRun {
                event: name,
                call_id: event.call_id().map(str::to_owned),
                hooks: results.clone(),
            });
        }
        HookResults(results)
    }

    /// The configured hooks of an event. Those that nobody waits for are started.
    fn select(&self, event: &EventInput<'_>, input: &Value) -> Vec<SelectedHook> {
        let (name, subjects) = (event.event(), event.names());
        let mut selected = Vec::new();
        for hook in &self.session.config.services.hooks.of_event(name) {
            if !hook.matcher.matches(&subjects) || self.disables(hook) {
                continue;
            }
            let result = match &hook.action {
                HookAction::Command { line, is_async } => {
                    let command = HookCommand::new(self, hook, line, input.to_string());
                    if *is_async {
                        self.session.in_background(async move {
                            let result = command.run().await;
                            tracing::debug!(end = ?result.end, "a hook in the background has ended");
                        });
                        continue;
                    }
                    command.run().boxed()
                }
                HookAction::McpTool {
                    server,
                    tool,
                    input: arguments,
                } => {
                    let arguments = fill_placeholders(arguments, input);
                    self.call_tool(server, tool, arguments, hook.timeout)
                }
            };
            selected.push(SelectedHook {
                run: self.summary_of(hook, event),
                on_error: hook.on_error,
                context_limit: hook.context_limit,
                result,
            });
        }
        selected
    }

    /// The hooks that clients have registered for an event.
    fn select_of_clients(&self, event: &EventInput<'_>, input: &Value) -> Vec<SelectedHook> {
        let Some(clients) = &self.session.config.services.client_hooks else {
            return Vec::new();
        };
        let (name, subjects) = (event.event(), event.names());
        let thread = self.session.emitter.thread().as_str();
        let registered = clients.hooks(thread, name);
        let matching = registered
            .into_iter()
            .filter(|hook| hook.matcher.matches(&subjects));
        matching
            .enumerate()
            .map(|(at, hook)| {
                let call = ClientHookCall {
                    hook: hook.id.clone(),
                    thread: thread.to_owned(),
                    turn: Some(self.turn.to_owned()).filter(|turn| !turn.is_empty()),
                    event: name,
                    input: input.clone(),
                };
                let (answer, clock) = (clients.call(call), Arc::clone(&self.session.clock));
                let timeout = hook.timeout;
                let result = async move {
                    tokio::select! {
                        biased;
                        answer = answer => result_of_client(answer),
                        () = clock.sleep(timeout) => RunResult::without_output(RunEnd::TimedOut(timeout.as_secs())),
                    }
                };
                SelectedHook {
                    run: self.summary_of_client(&hook, event, at),
                    on_error: hook.on_error,
                    context_limit: None,
                    result: Box::pin(result),
                }
            })
            .collect()
    }

    fn summary_of(&self, hook: &Hook, event: &EventInput<'_>) -> HookRunSummary {
        HookRunSummary {
            id: hook.run_id(event.call_id()),
            source_path: hook.source_path.display().to_string(),
            source: Some(hook.source),
            display_order: hook.display_order,
            status_message: hook.status_message.clone(),
            handler_type: match hook.action {
                HookAction::Command { .. } => HookHandlerType::Command,
                HookAction::McpTool { .. } => HookHandlerType::McpTool,
            },
            ..self.new_summary(event.event())
        }
    }

    fn summary_of_client(
        &self,
        hook: &ClientHook,
        event: &EventInput<'_>,
        at: usize,
    ) -> HookRunSummary {
        let name = event.event();
        let id = format!("{}:{}", name.kebab_case(), hook.id);
        let order = self.session.config.services.hooks.count() + at;
        HookRunSummary {
            id: match event.call_id() {
                Some(call) => format!("{id}:{call}"),
                None => id,
            },
            source_path: hook.client.clone(),
            source: Some(HookSource::Client),
            display_order: i64::try_from(order).unwrap_or(i64::MAX),
            status_message: hook.status_message.clone(),
            ..self.new_summary(name)
        }
    }

    fn new_summary(&self, event: HookEventName) -> HookRunSummary {
        HookRunSummary {
            id: String::new(),
            event_name: event,
            handler_type: HookHandlerType::Command,
            execution_mode: HookExecutionMode::Sync,
            scope: scope_of(event),
            source_path: String::new(),
            source: None,
            display_order: 0,
            status: HookRunStatus::Running,
            status_message: None,
            started_at: self.session.clock.now().as_second(),
            completed_at: None,
            duration_ms: None,
            entries: Vec::new(),
        }
    }
}

/// The answer of a client counts as the output of a command would.
fn result_of_client(answer: Result<Value, ClientHookError>) -> RunResult {
    match answer {
        Ok(Value::Null) => RunResult::without_output(RunEnd::Exited(0)),
        Ok(answer) => RunResult {
            stdout: match answer {
                Value::String(text) => text,
                answer => answer.to_string(),
            },
            ..RunResult::without_output(RunEnd::Exited(0))
        },
        Err(problem) => RunResult::without_output(RunEnd::NotRun(problem.to_string())),
    }
}
