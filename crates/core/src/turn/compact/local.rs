//! Local compaction: the model writes a summary.

use codex_model_client::{ModelError, ModelEvent, ModelRequest, Prompt, PromptItem};
use codex_protocol::{AnswerCut, CodexErrorInfo, EventMsg, ResponseItem, WarningEvent};
use codex_session_base::history::summary::{COMPACT_PROMPT, compacted_history, user_texts};
use codex_session_base::history::user_message;
use futures::StreamExt;

use super::{Compaction, CompactionPhase};
use crate::turn::items::assistant_text;
use crate::turn::outcome::TurnError;
use crate::turn::recording::RunningTurn;
use crate::turn::retry::Repeats;
use crate::turn::sampling::cut_off;

impl RunningTurn<'_> {
    pub(super) async fn compact_locally(
        &mut self,
        phase: CompactionPhase,
        id: &str,
    ) -> Result<Compaction, TurnError> {
        let message = self.summary(phase, id).await?;
        let texts = user_texts(&self.conversation.history);
        let items = compacted_history(&texts, &message);
        Ok(Compaction { items, message })
    }

    /// Asks the model for a summary. Drops the oldest items while the request is too long.
    async fn summary(&mut self, phase: CompactionPhase, id: &str) -> Result<String, TurnError> {
        let images = self.scope.settings.model.takes_images();
        let prompt = self.conversation.history.prompt(images);
        let mut input: Vec<_> = prompt.items().map(PromptItem::read).collect();
        let prompt = self.scope.session.config.options.compact_prompt.as_deref();
        let instruction = user_message([prompt.unwrap_or(COMPACT_PROMPT).trim_end().to_owned()]);
        input.push(instruction);
        let mut repeats = Repeats::default();
        loop {
            let error = match self
                .summary_attempt(phase, id, input.iter().collect())
                .await
            {
                Ok(text) => return Ok(text),
                Err(TurnError::Model(error)) => error,
                Err(error) => return Err(error),
            };
            let overflow = matches!(error, ModelError::ContextWindowExceeded { .. });
            if overflow && drop_oldest(&mut input) {
                repeats = Repeats::default();
                continue;
            }
            if overflow {
                return Err(TurnError::Model(error));
            }
            self.before_repeat(&mut repeats, error).await?;
        }
    }

    async fn summary_attempt(
        &mut self,
        phase: CompactionPhase,
        id: &str,
        input: Prompt,
    ) -> Result<String, TurnError> {
        let (request, model) = self.request_to_compact(phase, id);
        let request = ModelRequest {
            input,
            // The tools stay: the provider has this beginning in its cache.
            calls_no_tools: true,
            ..request
        };
        self.scope.budget.request(&model)?;
        let stop = &self.scope.stop;
        let mut stream = tokio::select! {
            biased;
            () = stop.stopped() => return Err(TurnError::Stopped),
            opened = self.scope.model.stream(request) => opened.map_err(TurnError::Model)?,
        };
        let mut text = String::new();
        let mut streamed = String::new();
        loop {
            let event = tokio::select! {
                biased;
                () = stop.stopped() => return Err(TurnError::Stopped),
                event = stream.next() => event,
            };
            match event
                .unwrap_or_else(|| Err(cut_off()))
                .map_err(TurnError::Model)?
            {
                ModelEvent::ItemDone(ResponseItem::Message { role, content, .. })
                    if role == "assistant" =>
                {
                    text = assistant_text(&content);
                    streamed.clear();
                }
                ModelEvent::TextDelta(delta) => streamed.push_str(&delta),
                ModelEvent::Completed(completion) => {
                    if let Some(usage) = completion.usage {
                        self.scope.budget.charge(usage, &model);
                        let window = self.scope.settings.model.effective_context_window();
                        self.conversation.usage.add(usage, window);
                    }
                    self.emitter.emit(self.conversation.usage.event());
                    // What came behind the last whole message is the one that was cut.
                    let last = Some(streamed).filter(|streamed| !streamed.trim().is_empty());
                    return self.finished_summary(last.unwrap_or(text), completion.cut.as_ref());
                }
                ModelEvent::RateLimits(limits) => {
                    self.conversation.usage.limit(limits);
                    self.emitter.emit(self.conversation.usage.event());
                }
                _ => {}
            }
        }
    }
}

impl RunningTurn<'_> {
    /// What came of a summary, which the server may have cut. Without a word of it, the conversation stays.
    fn finished_summary(&self, text: String, cut: Option<&AnswerCut>) -> Result<String, TurnError> {
        let cut = cut.map(ToString::to_string);
        if text.trim().is_empty() {
            let because = cut.unwrap_or_else(|| "The model said nothing.".to_owned());
            return Err(TurnError::Failed {
                message: format!(
                    "There is no summary, so the conversation stays as it is. {because}"
                ),
                info: CodexErrorInfo::Other,
            });
        }
        if let Some(message) = cut {
            self.emitter
                .emit(EventMsg::Warning(WarningEvent { message }));
        }
        Ok(text)
    }
}

/// Drops the oldest item, with its call or output. Returns false if too little is left.
fn drop_oldest(input: &mut Vec<ResponseItem>) -> bool {
    if input.len() <= 2 {
        return false;
    }
    let oldest = input.remove(0);
    let link = |item: &ResponseItem| call_id(item).map(str::to_owned);
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
