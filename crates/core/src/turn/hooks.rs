//! The hooks of a turn, but for those of its calls.

use codex_hooks::{CompactionTrigger, EventInput, ModelRequestEnd};
use codex_protocol::{
    ContentItem, EventMsg, HookEventName, HookPromptFragment, HookPromptItem, ResponseItem,
    SessionSource, SubAgentSource, TurnAbortReason, TurnItem, UserInput, WarningEvent,
};
use codex_session_base::hooks::{HookOccasion, HookResults};
use codex_session_base::input::{Input, TurnInput};
use codex_session_base::session_context::SessionBeginning;
use codex_tools::end_interrupted_jobs;
use serde_json::json;

use super::outcome::{CompletedTurn, TurnError};
use super::recording::RunningTurn;
use super::scope::TurnScope;

/// How often in a row hooks may send the model on when it wants to end a turn.
const MAX_CONTINUATIONS: u32 = 10;

/// What becomes of something that hooks were asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookVerdict {
    Accepted,
    Refused,
}

/// What hooks say to the end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnEndVerdict {
    /// The turn may end.
    End,
    /// The turn ends, and nobody is notified of it.
    Stop,
    /// The model goes on.
    GoOn,
}

/// Who a turn is run for, as hooks see it.
#[derive(Clone, Copy, Debug)]
enum TurnOwner<'a> {
    Thread,
    Agent { role: &'a str },
    Reviewer,
}

impl TurnScope {
    /// The circumstances that hooks are told.
    pub(super) fn occasion(&self) -> HookOccasion<'_> {
        HookOccasion::of_turn(&self.session, &self.settings)
    }

    fn owner(&self) -> TurnOwner<'_> {
        match &self.session.config.identity.source {
            SessionSource::SubAgent(SubAgentSource::ThreadSpawn { agent_role, .. }) => {
                TurnOwner::Agent {
                    role: agent_role.as_deref().unwrap_or("default"),
                }
            }
            SessionSource::SubAgent(SubAgentSource::Review) => TurnOwner::Reviewer,
            _ => TurnOwner::Thread,
        }
    }
}

impl RunningTurn<'_> {
    /// Runs hooks for as long as the turn is not stopped.
    async fn run_hooks(&self, event: &EventInput<'_>) -> Result<HookResults, TurnError> {
        let occasion = self.scope.occasion();
        tokio::select! {
            biased;
            () = self.scope.stop.stopped() => Err(TurnError::Stopped),
            results = occasion.run_hooks(event) => Ok(results),
        }
    }

    /// Runs the hooks for the beginning of a session, if this is its first turn.
    pub(super) async fn begin_session(&mut self) -> Result<HookVerdict, TurnError> {
        let session = &self.scope.session;
        let Some(beginning) = session.beginning.lock().take() else {
            return Ok(HookVerdict::Accepted);
        };
        if beginning == SessionBeginning::Resume {
            for notice in end_interrupted_jobs(session, &self.scope.settings).await {
                self.record(notice);
            }
        }
        let event = match self.scope.owner() {
            TurnOwner::Thread => EventInput::SessionStart {
                source: match beginning {
                    SessionBeginning::Startup => "startup",
                    SessionBeginning::Resume => "resume",
                    SessionBeginning::Fork => "fork",
                    SessionBeginning::Compaction => "compact",
                },
            },
            _ if beginning == SessionBeginning::Compaction => return Ok(HookVerdict::Accepted),
            TurnOwner::Agent { role } => EventInput::SubagentStart {
                agent: session.emitter.thread().as_str(),
                role,
            },
            TurnOwner::Reviewer => return Ok(HookVerdict::Accepted),
        };
        let results = self.run_hooks(&event).await?;
        for context in results.contexts() {
            self.record(context);
        }
        Ok(if results.stops() {
            HookVerdict::Refused
        } else {
            HookVerdict::Accepted
        })
    }

    /// Records input of the user, unless hooks refuse it.
    pub(super) async fn submit(&mut self, input: Input) -> Result<HookVerdict, TurnError> {
        let asked = match &input {
            Input::User(input) if !matches!(self.scope.owner(), TurnOwner::Agent { .. }) => {
                prompt_of(input)
            }
            _ => None,
        };
        let has_hooks = || {
            let session = &self.scope.session;
            session.has_hooks(HookEventName::UserPromptSubmit)
        };
        let Some(prompt) = asked.filter(|_| has_hooks()) else {
            self.record_input(input, Vec::new()).await;
            return Ok(HookVerdict::Accepted);
        };
        let event = EventInput::UserPromptSubmit { prompt: &prompt };
        let results = self.run_hooks(&event).await?;
        if results.stops() || results.objections().next().is_some() {
            for context in results.contexts() {
                self.record(context);
            }
            if let Input::User(input) = &input
                && let Some(saved) = &input.saved
            {
                saved.end();
            }
            return Ok(HookVerdict::Refused);
        }
        self.record_input(input, results.contexts()).await;
        Ok(HookVerdict::Accepted)
    }

    /// Records the input that waits. It is refused if hooks refuse input and accept none.
    pub(super) async fn submit_waiting(&mut self) -> Result<HookVerdict, TurnError> {
        let (mut refused, mut accepted) = (false, false);
        for input in self.scope.take_input().await {
            match self.submit(input).await? {
                HookVerdict::Accepted => accepted = true,
                HookVerdict::Refused => refused = true,
            }
        }
        Ok(if refused && !accepted {
            HookVerdict::Refused
        } else {
            HookVerdict::Accepted
        })
    }

    /// Asks the hooks whether the turn may end. `continuations` counts how often they sent the model on.
    pub(super) async fn may_end(
        &mut self,
        completed: &CompletedTurn,
        continuations: &mut u32,
    ) -> Result<TurnEndVerdict, TurnError> {
        let session = &self.scope.session;
        let last_assistant_message = completed.last_agent_message.as_deref();
        let stop_hook_active = *continuations > 0;
        let path;
        let event = match self.scope.owner() {
            TurnOwner::Thread => EventInput::Stop {
                stop_hook_active,
                last_assistant_message,
            },
            TurnOwner::Agent { role } => {
                path = session.emitter.log_path();
                EventInput::SubagentStop {
                    agent: session.emitter.thread().as_str(),
                    role,
                    agent_transcript_path: path.as_deref().and_then(|path| path.to_str()),
                    stop_hook_active,
                    last_assistant_message,
                }
            }
            TurnOwner::Reviewer => return Ok(TurnEndVerdict::End),
        };
        let results = self.run_hooks(&event).await?;
        if results.stops() {
            return Ok(TurnEndVerdict::Stop);
        }
        let prompts = results
            .objections()
            .map(|(hook, reason)| HookPromptFragment {
                text: reason.to_owned(),
                hook_run_id: hook.run_id.clone(),
            });
        let fragments: Vec<HookPromptFragment> = prompts.collect();
        if fragments.is_empty() {
            return Ok(TurnEndVerdict::End);
        }
        if *continuations == MAX_CONTINUATIONS {
            let message = format!(
                "The turn ends although hooks object: they have sent the model on \
                 {MAX_CONTINUATIONS} times in a row."
            );
            self.emitter
                .emit(EventMsg::Warning(WarningEvent { message }));
            return Ok(TurnEndVerdict::End);
        }
        *continuations += 1;
        self.record_prompts(fragments);
        Ok(TurnEndVerdict::GoOn)
    }

    fn record_prompts(&mut self, fragments: Vec<HookPromptFragment>) {
        let text = |fragment: &HookPromptFragment| ContentItem::InputText {
            text: format!(
                "<hook_prompt hook_run_id=\"{}\">{}</hook_prompt>",
                escaped(&fragment.hook_run_id).replace('"', "&quot;"),
                escaped(&fragment.text)
            ),
        };
        let id = self.scope.session.ids.item();
        self.record(ResponseItem::Message {
            role: "user".to_owned(),
            content: fragments.iter().map(text).collect(),
            end_turn: None,
            phase: None,
            id: Some(id.clone()),
        });
        let item = TurnItem::HookPrompt(HookPromptItem { id, fragments });
        self.emitter.item_started(item.clone());
        self.emitter.item_completed(item, false);
    }

    /// Runs the hooks before a request to the model. They change nothing.
    pub(super) async fn before_request(&self) -> Result<(), TurnError> {
        self.run_hooks(&EventInput::PreModelRequest).await?;
        Ok(())
    }

    /// Runs the hooks after a response of the model. They change nothing.
    pub(super) async fn after_response(
        &self,
        read: &Result<CompletedTurn, TurnError>,
    ) -> Result<(), TurnError> {
        let session = &self.scope.session;
        if !session.has_hooks(HookEventName::PostModelRequest) {
            return Ok(());
        }
        let error = match read {
            Ok(_) => None,
            Err(TurnError::Model(error)) => Some(error.to_string()),
            Err(_) => return Ok(()),
        };
        let used = self.conversation.usage.last().filter(|_| error.is_none());
        let end = ModelRequestEnd {
            error,
            token_usage: used.map_or(json!(null), |used| {
                let mut usage = json!(used);
                // Left out of files where it is zero.
                usage["cache_write_input_tokens"] = json!(used.cache_write_input_tokens);
                usage
            }),
        };
        self.run_hooks(&EventInput::PostModelRequest(end)).await?;
        Ok(())
    }

    /// Runs the hooks before or after a compaction. One that wants to go no further stops the turn.
    pub(super) async fn around_compaction(
        &self,
        event: fn(CompactionTrigger) -> EventInput<'static>,
        trigger: CompactionTrigger,
    ) -> Result<(), TurnError> {
        if self.run_hooks(&event(trigger)).await?.stops() {
            self.scope.stop.stop(TurnAbortReason::Interrupted);
            return Err(TurnError::Stopped);
        }
        Ok(())
    }
}

/// The text of a message; none if there is no message.
fn prompt_of(input: &TurnInput) -> Option<String> {
    let text = |item: &UserInput| match item {
        UserInput::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    let texts: Vec<String> = input.items.iter().filter_map(text).collect();
    (!input.items.is_empty()).then(|| texts.join("\n"))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
