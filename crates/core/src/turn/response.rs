//! Converts the events of a response to items, deltas and calls.

use codex_model_client::ModelEvent;
use codex_protocol::{
    AgentReasoningSectionBreakEvent, AnswerCut, ContentItem, EventMsg, ItemDeltaEvent,
    MessagePhase, ModeKind, ModelRerouteEvent, ModelRerouteReason, ReasoningContentDeltaEvent,
    ReasoningRawContentDeltaEvent, ResponseItem, WarningEvent,
};
use codex_session_base::history::user_message;
use codex_tools::ToolCall;

use super::calls::RunningCalls;
use super::items::{ActiveItem, ItemOptions, assistant_text};
use super::outcome::CompletedTurn;
use super::patch_stream::PatchStream;
use super::plan_text::split;
use super::recording::RunningTurn;
use super::text_filter::visible;

/// A response that is being read.
#[derive(Debug, Default)]
pub(crate) struct ActiveResponse {
    active: Option<ActiveItem>,
    patch: Option<PatchStream>,
    /// The visible text of its last message.
    last_message: Option<String>,
    /// Whether it has a message that is more than commentary.
    has_answered: bool,
    /// Whether the server cut it.
    is_cut: bool,
    rerouted: bool,
}

impl ActiveResponse {
    /// Ends the response. An incomplete item is completed with what it has so far.
    pub(crate) fn end(&mut self) {
        (self.active, self.patch) = (None, None);
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(crate) fn has_answered(&self) -> bool {
        self.has_answered
    }

    fn delta(&self, turn: &RunningTurn<'_>, delta: String) -> Option<ItemDeltaEvent> {
        let item_id = self.active.as_ref()?.id().to_owned();
        let thread_id = turn.scope.session.emitter.thread().clone();
        let turn_id = turn.emitter.turn_id().to_owned();
        (!delta.is_empty()).then_some(ItemDeltaEvent {
            thread_id,
            turn_id,
            item_id,
            delta,
        })
    }
}

impl RunningTurn<'_> {
    /// Handles one event. Returns the result of the response if it was the last.
    pub(crate) fn take_event(
        &mut self,
        response: &mut ActiveResponse,
        calls: &mut RunningCalls,
        event: ModelEvent,
    ) -> Option<CompletedTurn> {
        match event {
            ModelEvent::TextDelta(delta) => self.text_delta(response, delta),
            ModelEvent::InputDelta(delta) => {
                if let Some(patch) = &mut response.patch {
                    patch.push(self, &delta);
                }
            }
            ModelEvent::ReasoningSummaryDelta {
                delta,
                summary_index,
            } => {
                self.summary_delta(response, summary_index, delta);
            }
            ModelEvent::ReasoningDelta {
                delta,
                content_index,
            } => {
                self.reasoning_delta(response, content_index, delta);
            }
            ModelEvent::ReasoningSummaryPart { summary_index } => {
                self.section_break(response, summary_index);
            }
            ModelEvent::ItemAdded(item) => {
                response.patch = PatchStream::begin(self, &item);
                let started = self.start_item(&item);
                response.active = started.or(response.active.take());
            }
            ModelEvent::ItemDone(item) => self.item_done(response, calls, item),
            ModelEvent::ServerModel(name) => self.rerouted(response, &name),
            ModelEvent::RateLimits(limits) => {
                self.conversation.usage.limit(limits);
                self.emitter.emit(self.conversation.usage.event());
            }
            ModelEvent::ReasoningIncluded => self.conversation.usage.reasoning_included = true,
            ModelEvent::ModelsEtag(_) | ModelEvent::Created => {}
            ModelEvent::Completed(completion) => {
                if let Some(cut) = &completion.cut {
                    self.answer_cut(response, cut);
                }
                if let Some(usage) = completion.usage {
                    let model = &self.scope.settings.model;
                    self.scope.budget.charge(usage, model);
                    let window = model.effective_context_window();
                    self.conversation.usage.add(usage, window);
                }
                response.end();
                self.emitter.emit(self.conversation.usage.event());
                return Some(CompletedTurn {
                    last_agent_message: response.last_message.take(),
                    response_id: Some(completion.response_id),
                    stopped_by_hook: false,
                });
            }
        }
        None
    }

    fn in_plan_mode(&self) -> bool {
        self.scope.settings.mode.mode == ModeKind::Plan
    }

    fn start_item(&self, item: &ResponseItem) -> Option<ActiveItem> {
        let services = &self.scope.session;
        let options = ItemOptions {
            raw_reasoning: services.config.options.show_raw_reasoning,
            plan_mode: self.in_plan_mode(),
        };
        let ids = &self.scope.item_ids;
        let id = ids.assign(item.id(), || services.ids.item());
        ActiveItem::start(self.emitter, item, id, options)
    }

    fn text_delta(&self, response: &mut ActiveResponse, delta: String) {
        match &mut response.active {
            Some(active) => active.push_text(delta),
            None => tracing::debug!("text without a message"),
        }
    }

    fn summary_delta(&self, response: &mut ActiveResponse, summary_index: i64, delta: String) {
        if let Some(active) = &mut response.active {
            active.push_summary(summary_index, &delta);
        }
        if let Some(event) = response.delta(self, delta) {
            let ItemDeltaEvent {
                thread_id,
                turn_id,
                item_id,
                delta,
            } = event;
            self.emitter.emit(EventMsg::ReasoningContentDelta(
                ReasoningContentDeltaEvent {
                    thread_id,
                    turn_id,
                    item_id,
                    delta,
                    summary_index,
                },
            ));
        }
    }

    fn reasoning_delta(&self, response: &mut ActiveResponse, content_index: i64, delta: String) {
        if let Some(active) = &mut response.active {
            active.push_reasoning(&delta);
        }
        if let Some(event) = response.delta(self, delta) {
            let ItemDeltaEvent {
                thread_id,
                turn_id,
                item_id,
                delta,
            } = event;
            self.emitter.emit(EventMsg::ReasoningRawContentDelta(
                ReasoningRawContentDeltaEvent {
                    thread_id,
                    turn_id,
                    item_id,
                    delta,
                    content_index,
                },
            ));
        }
    }

    fn section_break(&self, response: &ActiveResponse, summary_index: i64) {
        if let Some(active) = &response.active {
            let item_id = active.id().to_owned();
            self.emitter.emit(EventMsg::AgentReasoningSectionBreak(
                AgentReasoningSectionBreakEvent {
                    item_id,
                    summary_index,
                },
            ));
        }
    }

    fn item_done(
        &mut self,
        response: &mut ActiveResponse,
        calls: &mut RunningCalls,
        mut item: ResponseItem,
    ) {
        if let Some(mut call) = ToolCall::from_item(&item) {
            let id = self.scope.item_ids.assign_to_call(&call.id);
            if id != call.id {
                tracing::warn!(call_id = call.id, "the model repeats the id of a call");
                call.set_id(&mut item, id);
            }
            self.scope.tools.current().name_fully(&mut call);
            if let Some(patch) = response.patch.take() {
                patch.end(self);
            }
            response.end();
            self.record(item.clone());
            calls.start(self.scope, call, item);
            return;
        }
        let active = response.active.take().or_else(|| self.start_item(&item));
        if let Some(active) = active {
            active.complete(&item);
        }
        if let ResponseItem::Message {
            role,
            content,
            phase,
            ..
        } = &item
            && role == "assistant"
        {
            let mut text = visible(&assistant_text(content));
            if self.in_plan_mode() {
                text = split(&text).0;
            }
            response.has_answered |=
                *phase != Some(MessagePhase::Commentary) && !text.trim().is_empty();
            response.last_message = (!text.trim().is_empty()).then_some(text);
        }
        self.record(item);
    }

    /// The server cut the answer: what came of a message is kept, and people are told why there is no more.
    fn answer_cut(&mut self, response: &mut ActiveResponse, cut: &AnswerCut) {
        if let Some(ActiveItem::Message(message)) = &response.active
            && !message.text().is_empty()
        {
            let text = message.text().to_owned();
            response.last_message = Some(text.clone());
            self.record(ResponseItem::Message {
                role: "assistant".to_owned(),
                content: vec![ContentItem::OutputText { text }],
                end_turn: None,
                phase: None,
                id: None,
            });
        }
        response.is_cut = true;
        // The item ends before the warning.
        response.end();
        let message = cut.to_string();
        self.emitter
            .emit(EventMsg::Warning(WarningEvent { message }));
    }

    /// The server uses another model than requested.
    fn rerouted(&mut self, response: &mut ActiveResponse, name: &str) {
        let asked = &self.scope.settings.model.slug;
        if response.rerouted || name.eq_ignore_ascii_case(asked) {
            return;
        }
        response.rerouted = true;
        self.emitter.emit(EventMsg::ModelReroute(ModelRerouteEvent {
            from_model: asked.clone(),
            to_model: name.to_owned(),
            reason: ModelRerouteReason::HighRiskCyberActivity,
        }));
        let message = format!("The server answers with {name} in place of {asked}.");
        let warning = user_message([format!("Warning: {message}")]);
        self.emitter
            .emit(EventMsg::Warning(WarningEvent { message }));
        self.record(warning);
    }
}
