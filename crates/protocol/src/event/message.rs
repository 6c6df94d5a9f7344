//! Events about messages, reasoning and the other items of a turn, complete and as deltas.
//!
//! Most items cause two events: an item event, followed by an event in the older form.

use serde::{Deserialize, Serialize};

use crate::ids::ThreadId;
use crate::items::{MemoryCitation, TurnItem};
use crate::raw_text::RawText;
use crate::response_item::{ImageDetail, MessagePhase, ResponseItem};
use crate::user_input::{TextElement, UserInput};

/// A message of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessageEvent {
    /// The client's id of the message.
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
    /// Images by the ids of files that the provider keeps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_files: Vec<String>,
    /// The details of the images by URL, then of those by path and by id, if any was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_details: Vec<Option<ImageDetail>>,
    /// Sound, by URL and by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audio: Vec<UserInput>,
    /// Spans of the text that the client displays in its own way.
    #[serde(default)]
    pub text_elements: Vec<TextElement>,
    /// The input in its order, if the other members do not tell it. Images by URL are left empty: they are `images`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<UserInput>,
    /// The item with the same content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
}

/// A message of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMessageEvent {
    pub message: RawText,
    /// Whether the message is commentary or the final answer.
    #[serde(default)]
    pub phase: Option<MessagePhase>,
    /// The memories that the message cites.
    #[serde(default)]
    pub memory_citation: Option<MemoryCitation>,
    /// Whether the model was interrupted in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// The item with the same content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
}

/// A text delta in the older form, without an item id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeltaEvent {
    /// The added text.
    pub delta: String,
}

/// Reasoning of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReasoningEvent {
    pub text: String,
    /// The item with the same content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
}

/// A new part of a summary of reasoning starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReasoningSectionBreakEvent {
    #[serde(default)]
    pub item_id: String,
    /// The index of the new part.
    #[serde(default)]
    pub summary_index: i64,
}

/// A text delta of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemDeltaEvent {
    pub thread_id: ThreadId,
    pub turn_id: String,
    pub item_id: String,
    /// The added text.
    pub delta: String,
}

/// A text delta of a reasoning summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningContentDeltaEvent {
    pub thread_id: ThreadId,
    pub turn_id: String,
    pub item_id: String,
    /// The added text.
    pub delta: String,
    /// The index of the part of the summary.
    #[serde(default)]
    pub summary_index: i64,
}

/// A text delta of the unabridged reasoning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningRawContentDeltaEvent {
    pub thread_id: ThreadId,
    pub turn_id: String,
    pub item_id: String,
    /// The added text.
    pub delta: String,
    /// The index of the part of the reasoning.
    #[serde(default)]
    pub content_index: i64,
}

/// The start or the completion of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemEvent {
    pub thread_id: ThreadId,
    pub turn_id: String,
    /// The current state of the item.
    pub item: TurnItem,
}

/// An item was recorded in the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawResponseItemEvent {
    pub item: ResponseItem,
}
