//! What the model saw.

use std::borrow::Cow;

use serde::Serialize;

use super::text::Text;
use crate::ids::{
    CallId, CodeCellId, CompactionId, InferenceId, ItemId, PayloadId, ResponseItemId, ThreadId,
    ToolCallId, TurnId,
};

/// One item of a thread's conversation, however often it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConversationItem {
    pub item_id: ItemId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub responses_item_id: Option<ResponseItemId>,
    /// When the item became history, in schema 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_at_unix_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_seq: Option<u64>,
    pub thread_id: ThreadId,
    pub codex_turn_id: Option<TurnId>,
    pub first_seen_at_unix_ms: i64,
    pub role: Role,
    pub channel: Option<Channel>,
    pub kind: ItemKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_message: Option<AgentMessage>,
    pub body: Body,
    pub call_id: Option<CallId>,
    pub produced_by: Vec<Producer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

impl Role {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "system" => Some(Self::System),
            "developer" => Some(Self::Developer),
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            "tool" => Some(Self::Tool),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    Analysis,
    Commentary,
    Final,
    Summary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    Message,
    Reasoning,
    FunctionCall,
    FunctionCallOutput,
    CustomToolCall,
    CustomToolCallOutput,
    CompactionMarker,
}

impl ItemKind {
    pub(crate) fn is_call(self) -> bool {
        matches!(self, Self::FunctionCall | Self::CustomToolCall)
    }

    pub(crate) fn is_output(self) -> bool {
        matches!(self, Self::FunctionCallOutput | Self::CustomToolCallOutput)
    }
}

/// Author and recipient of an item that is a message between agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentMessage {
    pub author: String,
    pub recipient: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Body {
    pub parts: Vec<Part>,
}

impl Body {
    /// What it says to people, without what is encrypted.
    #[must_use]
    pub fn shown(&self) -> String {
        let parts = self.parts.iter();
        let texts = parts.filter_map(|part| match part {
            Part::Encoded { .. } => None,
            part => Some(part.shown()),
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// A piece of a body. What is not text is kept short, with a way back to the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    Text {
        text: Text,
    },
    Summary {
        text: Text,
    },
    Encoded {
        label: String,
        value: Text,
    },
    Json {
        summary: String,
        raw_payload_id: PayloadId,
    },
    Code {
        language: String,
        source: Text,
    },
    PayloadRef {
        label: String,
        raw_payload_id: PayloadId,
        /// Of the entry that stands there, in schema 2.
        #[serde(skip_serializing_if = "Option::is_none")]
        content_sha256: Option<String>,
    },
}

impl Part {
    /// Its text, or the short form of what is not text.
    #[must_use]
    pub fn shown(&self) -> Cow<'_, str> {
        match self {
            Self::Text { text } | Self::Summary { text } => text.shown(),
            Self::Encoded { value, .. } => value.shown(),
            Self::Json { summary, .. } => Cow::Borrowed(summary),
            Self::Code { source, .. } => source.shown(),
            Self::PayloadRef { label, .. } => Cow::Borrowed(label),
        }
    }

    /// The number of bytes of what is shown.
    #[must_use]
    pub fn shown_length(&self) -> usize {
        match self {
            Self::Text { text } | Self::Summary { text } => text.len(),
            Self::Encoded { value, .. } => value.len(),
            Self::Json { summary, .. } => summary.len(),
            Self::Code { source, .. } => source.len(),
            Self::PayloadRef { label, .. } => label.len(),
        }
    }
}

/// What brought an item about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Producer {
    Inference { inference_call_id: InferenceId },
    Tool { tool_call_id: ToolCallId },
    CodeCell { code_cell_id: CodeCellId },
    Compaction { compaction_id: CompactionId },
}
