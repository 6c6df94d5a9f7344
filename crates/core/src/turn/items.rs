//! The item that the model is writing: started, fed with deltas, completed exactly once.

use codex_protocol::{
    AgentMessageContent, AgentMessageItem, ContentItem, ImageGenerationItem, MessagePhase,
    ReasoningItem, ReasoningItemContent, ReasoningItemReasoningSummary, ResponseItem, TurnItem,
    WebSearchAction, WebSearchItem,
};
use serde_json::json;

use super::text_filter::{TextFilter, visible};
use super::voice::Voice;

/// An item that was said to have started. Dropping it completes it as far as it got.
#[derive(Debug)]
pub(crate) struct ActiveItem {
    voice: Voice,
    raw_reasoning: bool,
    state: Option<Writing>,
}

#[derive(Debug)]
enum Writing {
    Message {
        id: String,
        text: String,
        phase: Option<MessagePhase>,
        filter: TextFilter,
    },
    Reasoning {
        id: String,
        summary: Vec<String>,
        raw: String,
    },
    Other(TurnItem),
}

impl ActiveItem {
    /// Says that the item starts. None for items that people are not shown this way.
    pub(crate) fn start(
        voice: &Voice,
        item: &ResponseItem,
        fresh_id: impl FnOnce() -> String,
        raw_reasoning: bool,
    ) -> Option<Self> {
        let id = item.id().map_or_else(fresh_id, str::to_owned);
        let state = match item {
            ResponseItem::Message { role, phase, .. } if role == "assistant" => Writing::Message {
                id,
                text: String::new(),
                phase: *phase,
                filter: TextFilter::default(),
            },
            ResponseItem::Reasoning { .. } => Writing::Reasoning {
                id,
                summary: Vec::new(),
                raw: String::new(),
            },
            ResponseItem::WebSearchCall { .. } | ResponseItem::ImageGenerationCall { .. } => {
                Writing::Other(turn_item(item, id)?)
            }
            _ => return None,
        };
        voice.item_started(state.so_far());
        Some(Self {
            voice: voice.clone(),
            raw_reasoning,
            state: Some(state),
        })
    }

    pub(crate) fn id(&self) -> &str {
        match &self.state {
            Some(Writing::Message { id, .. } | Writing::Reasoning { id, .. }) => id,
            Some(Writing::Other(item)) => item.id().unwrap_or_default(),
            None => "",
        }
    }

    /// Takes text of a message; answers what may be shown of it.
    pub(crate) fn push_text(&mut self, delta: String) -> String {
        match &mut self.state {
            Some(Writing::Message { text, filter, .. }) => {
                let shown = filter.push(delta);
                text.push_str(&shown);
                shown
            }
            _ => String::new(),
        }
    }

    /// The end of a message's text that was held back.
    pub(crate) fn finish_text(&mut self) -> String {
        match &mut self.state {
            Some(Writing::Message { text, filter, .. }) => {
                let shown = filter.finish();
                text.push_str(&shown);
                shown
            }
            _ => String::new(),
        }
    }

    pub(crate) fn push_summary(&mut self, index: i64, delta: &str) {
        if let Some(Writing::Reasoning { summary, .. }) = &mut self.state {
            // Parts come in order; a wild index must not cost memory.
            let index = usize::try_from(index).unwrap_or(0).min(summary.len());
            if index == summary.len() {
                summary.push(String::new());
            }
            summary[index].push_str(delta);
        }
    }

    pub(crate) fn push_reasoning(&mut self, delta: &str) {
        if let Some(Writing::Reasoning { raw, .. }) = &mut self.state {
            raw.push_str(delta);
        }
    }

    /// The item is complete, and this is what it is.
    pub(crate) fn complete(mut self, item: &ResponseItem) {
        let id = self.id().to_owned();
        if let Some(item) = turn_item(item, id) {
            self.state = None;
            self.voice.item_completed(item, self.raw_reasoning);
        }
    }
}

impl Drop for ActiveItem {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            self.voice
                .item_completed(state.so_far(), self.raw_reasoning);
        }
    }
}

impl Writing {
    fn so_far(&self) -> TurnItem {
        match self {
            Self::Message {
                id, text, phase, ..
            } => agent_message(id.clone(), text.clone(), *phase),
            Self::Reasoning { id, summary, raw } => TurnItem::Reasoning(ReasoningItem {
                id: id.clone(),
                summary_text: summary.clone(),
                raw_content: (!raw.is_empty()).then(|| raw.clone()).into_iter().collect(),
            }),
            Self::Other(item) => item.clone(),
        }
    }
}

fn agent_message(id: String, text: String, phase: Option<MessagePhase>) -> TurnItem {
    TurnItem::AgentMessage(AgentMessageItem {
        id,
        content: vec![AgentMessageContent::Text { text }],
        phase,
        memory_citation: None,
    })
}

/// What people are shown of an item of the model.
fn turn_item(item: &ResponseItem, id: String) -> Option<TurnItem> {
    Some(match item {
        ResponseItem::Message {
            role,
            content,
            phase,
            ..
        } if role == "assistant" => agent_message(id, visible(&assistant_text(content)), *phase),
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
        ResponseItem::ImageGenerationCall {
            status,
            revised_prompt,
            result,
            ..
        } => TurnItem::ImageGeneration(ImageGenerationItem {
            id,
            status: status.clone(),
            revised_prompt: revised_prompt.clone(),
            result: result.clone(),
            saved_path: None,
        }),
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
