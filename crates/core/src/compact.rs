//! Compaction on this side: the model writes a summary, which takes the place of what came before.

use codex_model_client::Encoded;
use codex_protocol::{
    CodexErrorInfo, Compacted, ContextCompactionItem, EventMsg, ResponseItem, TurnItem,
    WarningEvent,
};
use codex_rollout::LineKind;
use futures::StreamExt;

use crate::context::summary::{COMPACT_PROMPT, compacted_history, user_texts};
use crate::context::{self, user_message};
use crate::conversation::Conversation;
use crate::history::Kind;
use crate::ports::{ModelError, ModelEvent, ModelRequest};
use crate::session::Session;
use crate::turn::{self, Completed, Halt, Turn, TurnScope, Voice};

/// When a turn compacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The context is told anew after the summary.
    BeforeTurn,
    /// The context is put in front of the last thing a person said.
    MidTurn,
}

impl Session {
    /// Compacts as a task of its own.
    pub(crate) async fn compact(&mut self, id: String) {
        let settings = self.turn_settings(&id, None);
        self.start(crate::session::TaskKind::Other, settings, run_compaction)
            .await;
    }
}

async fn run_compaction(scope: TurnScope, mut conversation: Conversation) -> Conversation {
    let voice = scope.voice();
    let guard = turn::TurnGuard::start(&scope);
    let mut turn = Turn {
        scope: &scope,
        voice: &voice,
        conversation: &mut conversation,
    };
    let ended = turn
        .compact(Phase::BeforeTurn)
        .await
        .map(|()| Completed::default());
    turn::finish(&scope, &mut conversation, guard, ended).await;
    conversation
}

/// Says that a compaction started, and that it is over if it is.
struct CompactionItem<'a> {
    voice: &'a Voice,
    item: TurnItem,
}

impl<'a> CompactionItem<'a> {
    fn start(voice: &'a Voice, id: String) -> Self {
        let item = TurnItem::ContextCompaction(ContextCompactionItem { id });
        voice.item_started(item.clone());
        Self { voice, item }
    }

    fn id(&self) -> &str {
        self.item.id().unwrap_or_default()
    }
}

impl Drop for CompactionItem<'_> {
    fn drop(&mut self) {
        self.voice.item_completed(self.item.clone(), false);
    }
}

impl Turn<'_> {
    /// Compacts if the context has grown to the limit.
    pub(crate) async fn compact_if_full(&mut self, phase: Phase) -> Result<(), Halt> {
        let Some(limit) = self.scope.settings.model.compact_at() else {
            return Ok(());
        };
        if self.context_tokens() < limit {
            return Ok(());
        }
        self.compact(phase).await
    }

    /// How many tokens the next request has, as far as is known.
    fn context_tokens(&self) -> i64 {
        let (history, usage) = (&self.conversation.history, &self.conversation.usage);
        let past = if usage.reasoning_included {
            0
        } else {
            history.past_reasoning_tokens()
        };
        let estimated = history.tokens_since_model() + past;
        usage
            .last_total()
            .saturating_add(i64::try_from(estimated).unwrap_or(i64::MAX))
    }

    pub(crate) async fn compact(&mut self, phase: Phase) -> Result<(), Halt> {
        let item = CompactionItem::start(self.voice, self.scope.services.ids.item());
        let summary = self.summary(item.id()).await?;
        let texts = user_texts(&self.conversation.history);
        let mut items = compacted_history(&texts, &summary);
        self.conversation.told = None;
        if phase == Phase::MidTurn {
            let at = items.len().saturating_sub(2);
            let told = context::initial(&self.scope.settings, None);
            items.splice(at..at, told);
            self.conversation.told = Some(context::told(&self.scope.settings));
        }
        self.replace_history(items, summary, item.id());
        drop(item);
        let message = "Long threads and repeated compaction make the model less accurate. Start a \
                       new thread when you can."
            .to_owned();
        self.voice.say(EventMsg::Warning(WarningEvent { message }));
        Ok(())
    }

    fn replace_history(&mut self, mut items: Vec<ResponseItem>, message: String, id: &str) {
        if let Some(observer) = self.scope.services.emitter.observer() {
            let images = self.scope.settings.model.images;
            let before = self.conversation.history.prompt(images);
            observer.compacted(self.voice.turn(), id, before, &items);
        }
        let old = self.conversation.history.entries();
        let ghosts = old.iter().filter(|entry| entry.kind == Kind::Ghost);
        items.extend(ghosts.map(|entry| entry.item().clone()));
        self.conversation.history.replace(items.iter().cloned());
        let emitter = &self.scope.services.emitter;
        let replacement_history = Some(items);
        emitter.log(
            LineKind::Compacted,
            &Compacted {
                message,
                replacement_history,
            },
        );
        if let Some(told) = &self.conversation.told {
            emitter.log(LineKind::TurnContext, told);
        }
        let window = self.scope.settings.model.effective_window();
        let instructions = &self.scope.settings.instructions;
        self.conversation.estimate(instructions, window);
        self.voice.say(self.conversation.usage.event());
    }

    /// Lets the model write a summary. When even that is too much the oldest items go.
    async fn summary(&mut self, id: &str) -> Result<String, Halt> {
        let mut input = self
            .conversation
            .history
            .prompt(self.scope.settings.model.images);
        let prompt = self.scope.services.config.compact_prompt.as_deref();
        let request = user_message([prompt.unwrap_or(COMPACT_PROMPT).trim_end().to_owned()]);
        let entry = crate::history::Entry::of(request);
        input.extend(entry.map(|entry| entry.input));
        let most = self.scope.services.config.stream_max_retries;
        let mut repeats = 0;
        loop {
            let error = match self.summary_attempt(input.clone(), id).await {
                Ok(text) => return Ok(text),
                Err(Halt::Stopped) => return Err(Halt::Stopped),
                Err(Halt::Failed(error)) => error,
            };
            let overflow = error.info == CodexErrorInfo::ContextWindowExceeded;
            if overflow && drop_oldest(&mut input) {
                repeats = 0;
                continue;
            }
            let clock = self.scope.services.clock.as_ref();
            let delay = crate::turn::retry_delay(&error, repeats + 1, clock);
            let Some(delay) = delay.filter(|_| !overflow && repeats < most) else {
                return Err(Halt::Failed(error));
            };
            repeats += 1;
            self.wait_to_retry(repeats, most, error, delay).await?;
        }
    }

    async fn summary_attempt(
        &mut self,
        input: Vec<Encoded<ResponseItem>>,
        id: &str,
    ) -> Result<String, Halt> {
        let request = ModelRequest {
            input,
            tools: crate::tools::no_tools(),
            parallel_tool_calls: false,
            output_schema: None,
            ..self.request(Some(id))
        };
        let stop = &self.scope.stop;
        let mut stream = tokio::select! {
            biased;
            () = stop.stopped() => return Err(Halt::Stopped),
            opened = self.scope.services.model.stream(request) => opened.map_err(Halt::Failed)?,
        };
        let mut text = String::new();
        loop {
            let event = tokio::select! {
                biased;
                () = stop.stopped() => return Err(Halt::Stopped),
                event = stream.next() => event,
            };
            match event
                .unwrap_or_else(|| Err(ModelError::cut_off()))
                .map_err(Halt::Failed)?
            {
                ModelEvent::ItemDone(ResponseItem::Message { role, content, .. })
                    if role == "assistant" =>
                {
                    text = turn::assistant_text(&content);
                }
                ModelEvent::RateLimits(limits) => {
                    self.conversation.usage.limit(limits);
                    self.voice.say(self.conversation.usage.event());
                }
                ModelEvent::Completed { usage, .. } => {
                    if let Some(usage) = usage {
                        let window = self.scope.settings.model.effective_window();
                        self.conversation.usage.add(usage, window);
                    }
                    self.voice.say(self.conversation.usage.event());
                    return Ok(text);
                }
                _ => {}
            }
        }
    }
}

/// Drops the oldest item and, if it is half of a call, the other half. False if too little is left.
fn drop_oldest(input: &mut Vec<Encoded<ResponseItem>>) -> bool {
    if input.len() <= 2 {
        return false;
    }
    let oldest = input.remove(0);
    let link = |item: &Encoded<ResponseItem>| call_id(item).map(str::to_owned);
    if let Some(id) = link(&oldest)
        && let Some(other) = input
            .iter()
            .position(|item| link(item).as_ref() == Some(&id))
    {
        input.remove(other);
    }
    true
}

fn call_id(item: &ResponseItem) -> Option<&str> {
    match item {
        ResponseItem::FunctionCall { call_id, .. }
        | ResponseItem::FunctionCallOutput { call_id, .. }
        | ResponseItem::CustomToolCall { call_id, .. }
        | ResponseItem::CustomToolCallOutput { call_id, .. } => Some(call_id),
        ResponseItem::LocalShellCall { call_id, .. }
        | ResponseItem::ToolSearchCall { call_id, .. }
        | ResponseItem::ToolSearchOutput { call_id, .. } => call_id.as_deref(),
        _ => None,
    }
}
