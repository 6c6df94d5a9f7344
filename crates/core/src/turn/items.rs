//! The item that the model is writing: started, extended by deltas, completed exactly once.

use codex_protocol::{
    ContentItem, ReasoningItem, ReasoningItemContent, ReasoningItemReasoningSummary, ResponseItem,
    TurnItem, WebSearchAction, WebSearchItem,
};
use codex_session_base::events::TurnEmitter;
use serde_json::json;

use super::message::MessageWriter;

/// An item whose start was emitted. Dropping it completes it with what it has so far.
#[derive(Debug)]
pub(crate) enum ActiveItem {
    Message(MessageWriter),
    Other(OtherItem),
}

/// Options for the items of a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemOptions {
    pub(crate) raw_reasoning: bool,
    pub(crate) plan_mode: bool,
}

impl ActiveItem {
    /// Emits the start of an item. None for items that are not shown in this way.
    pub(crate) fn start(
        emitter: &TurnEmitter,
        item: &ResponseItem,
        id: String,
        options: ItemOptions,
    ) -> Option<Self> {
        let state = match item {
            ResponseItem::Message { role, phase, .. } if role == "assistant" => {
                let writer = MessageWriter::start(emitter, id, *phase, options.plan_mode);
                return Some(Self::Message(writer));
            }
            ResponseItem::Reasoning { .. } => PartialItem::Reasoning {
                begun: turn_item(item, id.clone())?,
                id,
                summary: Vec::new(),
                raw: String::new(),
            },
            ResponseItem::WebSearchCall { .. } => PartialItem::Whole(turn_item(item, id)?),
            _ => return None,
        };
        emitter.item_started(state.so_far());
        Some(Self::Other(OtherItem {
            emitter: emitter.clone(),
            raw_reasoning: options.raw_reasoning,
            state: Some(state),
        }))
    }

    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Message(message) => message.id(),
            Self::Other(item) => item.id(),
        }
    }

    /// Adds text to a message and emits it.
    pub(crate) fn push_text(&mut self, delta: String) {
        if let Self::Message(message) = self {
            message.push(delta);
        }
    }

    pub(crate) fn push_summary(&mut self, index: i64, delta: &str) {
        if let Self::Other(item) = self
            && let Some(PartialItem::Reasoning { summary, .. }) = &mut item.state
        {
            // Parts come in order. A wrong index must not allocate memory.
            let index = usize::try_from(index).unwrap_or(0).min(summary.len());
            if index == summary.len() {
                summary.push(String::new());
            }
            summary[index].push_str(delta);
        }
    }

    pub(crate) fn push_reasoning(&mut self, delta: &str) {
        if let Self::Other(item) = self
            && let Some(PartialItem::Reasoning { raw, .. }) = &mut item.state
        {
            raw.push_str(delta);
        }
    }

    /// Completes the item with its final content.
    pub(crate) fn complete(self, item: &ResponseItem) {
        match (self, item) {
            (Self::Message(message), ResponseItem::Message { content, .. }) => {
                message.complete(&assistant_text(content));
            }
            (Self::Other(mut other), item) => {
                if let Some(item) = turn_item(item, other.id().to_owned()) {
                    other.state = None;
                    other.emitter.item_completed(item, other.raw_reasoning);
                }
            }
            (Self::Message(_), _) => {}
        }
    }
}

/// Reasoning or a search.
#[derive(Debug)]
pub(crate) struct OtherItem {
    emitter: TurnEmitter,
    raw_reasoning: bool,
    state: Option<PartialItem>,
}

#[derive(Debug)]
enum PartialItem {
    Reasoning {
        id: String,
        /// Its content at the start. The deltas repeat it.
        begun: TurnItem,
        summary: Vec<String>,
        raw: String,
    },
    Whole(TurnItem),
}

impl OtherItem {
    fn id(&self) -> &str {
        match &self.state {
            Some(PartialItem::Reasoning { id, .. }) => id,
            Some(PartialItem::Whole(item)) => item.id().unwrap_or_default(),
            None => "",
        }
    }
}

impl Drop for OtherItem {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            self.emitter
                .item_completed(state.so_far(), self.raw_reasoning);
        }
    }
}

impl PartialItem {
    fn so_far(&self) -> TurnItem {
        match self {
            Self::Reasoning {
                begun,
                summary,
                raw,
                ..
            } if summary.is_empty() && raw.is_empty() => begun.clone(),
            Self::Reasoning {
                id, summary, raw, ..
            } => TurnItem::Reasoning(ReasoningItem {
                id: id.clone(),
                summary_text: summary.clone(),
                raw_content: (!raw.is_empty()).then(|| raw.clone()).into_iter().collect(),
            }),
            Self::Whole(item) => item.clone(),
        }
    }
}

/// The item for clients, if it is no message.
fn turn_item(item: &ResponseItem, id: String) -> Option<TurnItem> {
    Some(match item {
        ResponseItem::Reasoning {
            summary, content, ..
        } => TurnItem::Reasoning(ReasoningItem {
            id,
            summary_text: summary
                .iter()
                .map(|ReasoningItemReasoningSummary::SummaryText { text }| text.clone())
                .collect(),
            raw_content: content.iter().flatten().map(reasoning_text).collect(),
        }),
        ResponseItem::WebSearchCall { action, .. } => {
            let query = action.as_ref().map(search_query).unwrap_or_default();
            let other = || WebSearchAction::Other(json!({ "type": "other" }));
            let action = action.clone().unwrap_or_else(other);
            TurnItem::WebSearch(WebSearchItem { id, query, action })
        }
        _ => return None,
    })
}

pub(crate) fn assistant_text(content: &[ContentItem]) -> String {
    let texts = content.iter().map(|part| match part {
        ContentItem::OutputText { text } | ContentItem::InputText { text } => text.as_str(),
        ContentItem::InputImage { .. } => "",
    });
    texts.collect()
}

fn reasoning_text(part: &ReasoningItemContent) -> String {
    let (ReasoningItemContent::ReasoningText { text } | ReasoningItemContent::Text { text }) = part;
    text.clone()
}

fn search_query(action: &WebSearchAction) -> String {
    match action {
        WebSearchAction::Search {
            query: Some(query), ..
        } => query.clone(),
        WebSearchAction::Search {
            queries: Some(queries),
            ..
        } => match queries.as_slice() {
            [] => String::new(),
            [only] => only.clone(),
            [first, ..] => format!("{first} ..."),
        },
        WebSearchAction::OpenPage { url } => url.clone().unwrap_or_default(),
        WebSearchAction::FindInPage { url, pattern } => match (url, pattern) {
            (Some(url), Some(pattern)) => format!("'{pattern}' in {url}"),
            (None, Some(pattern)) => format!("'{pattern}'"),
            (url, None) => url.clone().unwrap_or_default(),
        },
        _ => String::new(),
    }
}
