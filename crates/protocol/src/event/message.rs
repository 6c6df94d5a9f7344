//! Events about messages, reasoning and the other items of a turn, whole and piece by piece.
//!
//! Most things are told twice: by the item events, and right after by an event in the older form.

use serde::{Deserialize, Serialize};

use crate::ids::ThreadId;
use crate::items::{MemoryCitation, TurnItem};
use crate::raw_text::RawText;
use crate::response_item::{MessagePhase, ResponseItem};
use crate::user_input::TextElement;

/// The user said something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessageEvent {
    /// What the client calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The texts, joined.
    pub message: String,
    /// Images by URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<String>>,
    /// Images by path.
    #[serde(default)]
    pub local_images: Vec<String>,
    /// Spans of the text that the client shows in a way of its own.
    #[serde(default)]
    pub text_elements: Vec<TextElement>,
    /// The item that says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
}

/// The model said something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMessageEvent {
    /// What.
    pub message: RawText,
    /// The part that the message plays in the turn.
    #[serde(default)]
    pub phase: Option<MessagePhase>,
    /// Which memories the message draws on.
    #[serde(default)]
    pub memory_citation: Option<MemoryCitation>,
    /// The item that says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
}

/// A piece of text, in the older form that does not tell of which item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeltaEvent {
    /// The text that is added.
    pub delta: String,
}

/// The model thought something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReasoningEvent {
    /// What.
    pub text: String,
    /// The item that says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
}

/// A new part of a summary of reasoning starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReasoningSectionBreakEvent {
    /// The reasoning item.
    #[serde(default)]
    pub item_id: String,
    /// Which part starts.
    #[serde(default)]
    pub summary_index: i64,
}

/// A piece of text of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemDeltaEvent {
    /// The thread.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: String,
    /// The item.
    pub item_id: String,
    /// The text that is added.
    pub delta: String,
}

/// A piece of text of a summary of reasoning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningContentDeltaEvent {
    /// The thread.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: String,
    /// The reasoning item.
    pub item_id: String,
    /// The text that is added.
    pub delta: String,
    /// To which part of the summary.
    #[serde(default)]
    pub summary_index: i64,
}

/// A piece of text of the reasoning itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningRawContentDeltaEvent {
    /// The thread.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: String,
    /// The reasoning item.
    pub item_id: String,
    /// The text that is added.
    pub delta: String,
    /// To which part of the reasoning.
    #[serde(default)]
    pub content_index: i64,
}

/// An item of a turn started, or is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemEvent {
    /// The thread.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: String,
    /// The item, as it is now.
    pub item: TurnItem,
}

/// An item was recorded in the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawResponseItemEvent {
    /// The item.
    pub item: ResponseItem,
}
