//! A message while the model writes it: an agent item and, in plan mode, possibly a plan item.

use codex_protocol::{
    AgentMessageContent, AgentMessageItem, EventMsg, ItemDeltaEvent, MemoryCitation, MessagePhase,
    PlanItem, TurnItem,
};
use codex_session_base::events::TurnEmitter;

use super::citation::citation_of;
use super::plan_text::{PlanSplitter, TextPiece, split};
use super::text_filter::{TextFilter, visible};

/// A message that is being written. Dropping it completes its items with what they have so far.
#[derive(Debug)]
pub(crate) struct MessageWriter {
    emitter: TurnEmitter,
    id: String,
    phase: Option<MessagePhase>,
    filter: TextFilter,
    splitter: Option<PlanSplitter>,
    /// The text that was emitted.
    text: String,
    /// Leading whitespace. In plan mode nothing else may follow.
    blanks: String,
    /// The memories that the message is based on, once it is complete.
    citation: Option<MemoryCitation>,
    started: bool,
    /// The plan, if there is one.
    plan: Option<String>,
    ended: bool,
    is_cut: bool,
}

impl MessageWriter {
    pub(crate) fn start(
        emitter: &TurnEmitter,
        id: String,
        phase: Option<MessagePhase>,
        plan_mode: bool,
    ) -> Self {
        let mut writer = Self {
            emitter: emitter.clone(),
            id,
            phase,
            filter: TextFilter::default(),
            splitter: plan_mode.then(PlanSplitter::default),
            text: String::new(),
            blanks: String::new(),
            citation: None,
            started: false,
            plan: None,
            ended: false,
            is_cut: false,
        };
        if !plan_mode {
            writer.start_agent_item();
        }
        writer
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The text that was emitted so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Adds text and emits what is visible.
    pub(crate) fn push(&mut self, delta: String) {
        let shown = self.filter.push(delta);
        match &mut self.splitter {
            None => self.push_message(shown),
            Some(splitter) => {
                let pieces = splitter.push(&shown);
                self.show(pieces);
            }
        }
    }

    /// Emits what was held back.
    fn finish_text(&mut self) {
        let rest = self.filter.finish();
        match &mut self.splitter {
            None => self.push_message(rest),
            Some(splitter) => {
                let mut pieces = splitter.push(&rest);
                pieces.extend(splitter.finish());
                self.show(pieces);
            }
        }
    }

    /// Completes the message with its whole text.
    pub(crate) fn complete(mut self, whole: &str) {
        self.finish_text();
        self.citation = citation_of(whole);
        let whole = visible(whole);
        let (message, plan) = match self.splitter {
            Some(_) => split(&whole),
            None => (whole, None),
        };
        if plan.is_some() && self.plan.is_none() {
            self.start_plan_item();
        }
        self.plan = plan.or(self.plan.take());
        if !self.started && !message.trim().is_empty() {
            self.start_agent_item();
        }
        self.text = message;
        self.end();
    }

    fn show(&mut self, pieces: Vec<TextPiece>) {
        for piece in pieces {
            match piece {
                TextPiece::Message(text) => self.push_message(text),
                TextPiece::PlanBegins => self.start_plan_item(),
                TextPiece::Plan(text) => {
                    self.plan.get_or_insert_default().push_str(&text);
                    let event = self.delta(self.plan_id(), text);
                    self.emitter.emit(EventMsg::PlanDelta(event));
                }
            }
        }
    }

    fn push_message(&mut self, mut text: String) {
        if !self.started {
            if text.trim().is_empty() {
                self.blanks.push_str(&text);
                return;
            }
            self.start_agent_item();
            text.insert_str(0, &std::mem::take(&mut self.blanks));
        }
        if !text.is_empty() {
            self.text.push_str(&text);
            let event = self.delta(self.id.clone(), text);
            self.emitter.emit(EventMsg::AgentMessageContentDelta(event));
        }
    }

    fn start_agent_item(&mut self) {
        self.started = true;
        self.emitter.item_started(self.agent_item());
    }

    fn start_plan_item(&mut self) {
        if self.plan.is_none() {
            let item = PlanItem {
                id: self.plan_id(),
                text: String::new(),
            };
            self.emitter.item_started(TurnItem::Plan(item));
        }
        self.plan = Some(String::new());
    }

    fn end(&mut self) {
        self.ended = true;
        if let Some(text) = self.plan.take() {
            let item = PlanItem {
                id: self.plan_id(),
                text,
            };
            self.emitter.item_completed(TurnItem::Plan(item), false);
        }
        if self.started {
            self.emitter.item_completed(self.agent_item(), false);
        }
    }

    fn agent_item(&self) -> TurnItem {
        TurnItem::AgentMessage(AgentMessageItem {
            id: self.id.clone(),
            content: vec![AgentMessageContent::Text {
                text: self.text.clone(),
            }],
            phase: self.phase,
            memory_citation: self.citation.clone(),
            is_cut: self.is_cut,
        })
    }

    fn plan_id(&self) -> String {
        format!("{}-plan", self.emitter.turn_id())
    }

    fn delta(&self, item_id: String, delta: String) -> ItemDeltaEvent {
        let thread_id = self.emitter.thread_emitter().thread().clone();
        ItemDeltaEvent {
            thread_id,
            turn_id: self.emitter.turn_id().to_owned(),
            item_id,
            delta,
        }
    }
}

impl Drop for MessageWriter {
    fn drop(&mut self) {
        if !self.ended {
            self.is_cut = true;
            self.end();
        }
    }
}
