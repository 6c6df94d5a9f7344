//! An entry of the history: what the engine needs to know about an item.

use std::sync::Arc;

use codex_protocol::{
    ContentItem, FunctionCallOutputBody, FunctionCallOutputContentItem, ResponseItem,
};

use super::contextual::{contains_settings, is_contextual};
use super::truncate::tokens_of;

/// The bytes that an image counts in an estimate.
pub(super) const IMAGE_BYTES: usize = 7373;

/// The kind of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A message of the user.
    UserTurn,
    /// Context of the engine with the role `user`.
    UserContext,
    /// A developer message; whether it contains settings.
    Developer { settings: bool },
    /// A message of the model.
    Assistant,
    /// A message of another agent.
    AgentMessage,
    /// Reasoning of the model.
    Reasoning,
    /// A call that needs an output.
    Call(CallLink),
    /// The output of a call.
    Output(CallLink),
    /// Work of the provider: searches, images.
    Hosted,
    /// The result of a compaction by the provider.
    Compaction,
}

impl EntryKind {
    /// The kind of an item; none for items that are not kept in a history.
    pub fn from_item(item: &ResponseItem) -> Option<Self> {
        let link = |family, id: &str| CallLink {
            family,
            id: Arc::from(id),
        };
        Some(match item {
            ResponseItem::Message { role, content, .. } => match role.as_str() {
                "user" if is_contextual(content) => Self::UserContext,
                "user" => Self::UserTurn,
                "assistant" => Self::Assistant,
                "developer" => Self::Developer {
                    settings: contains_settings(content),
                },
                _ => return None,
            },
            ResponseItem::AgentMessage { .. } => Self::AgentMessage,
            ResponseItem::Reasoning { .. } => Self::Reasoning,
            ResponseItem::FunctionCall { call_id, .. } => {
                Self::Call(link(CallFamily::Function, call_id))
            }
            ResponseItem::LocalShellCall { call_id, id, .. } => {
                let id = call_id.as_deref().or(id.as_deref())?;
                Self::Call(link(CallFamily::Function, id))
            }
            ResponseItem::CustomToolCall { call_id, .. } => {
                Self::Call(link(CallFamily::Custom, call_id))
            }
            ResponseItem::ToolSearchCall {
                call_id: Some(id),
                execution,
                ..
            } if execution == "client" => Self::Call(link(CallFamily::ToolSearch, id)),
            ResponseItem::FunctionCallOutput { call_id, .. } => {
                Self::Output(link(CallFamily::Function, call_id))
            }
            // A script that runs says something besides the output of its call.
            ResponseItem::CustomToolCallOutput { name: Some(_), .. } => Self::Hosted,
            ResponseItem::CustomToolCallOutput { call_id, .. } => {
                Self::Output(link(CallFamily::Custom, call_id))
            }
            ResponseItem::ToolSearchOutput {
                call_id: Some(id),
                execution,
                ..
            } if execution == "client" => Self::Output(link(CallFamily::ToolSearch, id)),
            ResponseItem::ToolSearchCall { .. }
            | ResponseItem::ToolSearchOutput { .. }
            | ResponseItem::WebSearchCall { .. }
            | ResponseItem::ImageGenerationCall { .. } => Self::Hosted,
            ResponseItem::Compaction { .. } => Self::Compaction,
            _ => return None,
        })
    }
}

/// Links a call and its output.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallLink {
    pub family: CallFamily,
    pub id: Arc<str>,
}

/// The type of output that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallFamily {
    Function,
    Custom,
    ToolSearch,
}

/// An item of the history.
#[derive(Clone, Debug)]
pub struct HistoryEntry {
    pub kind: EntryKind,
    /// The estimated tokens.
    pub tokens: usize,
    pub has_images: bool,
}

impl HistoryEntry {
    /// The entry of an item with JSON of this length.
    pub fn new(kind: EntryKind, item: &ResponseItem, length: usize) -> Self {
        let (images, image_bytes) = images_of(item);
        let bytes = length.saturating_sub(image_bytes) + images * IMAGE_BYTES;
        let tokens = match &kind {
            EntryKind::Reasoning | EntryKind::Compaction => tokens_of(encrypted_bytes(item)),
            _ => tokens_of(bytes),
        };
        Self {
            kind,
            tokens,
            has_images: images > 0,
        }
    }

    /// Whether the model made it, or the engine at its request.
    pub fn is_from_model(&self) -> bool {
        matches!(
            self.kind,
            EntryKind::Assistant
                | EntryKind::Reasoning
                | EntryKind::Call(_)
                | EntryKind::Hosted
                | EntryKind::Compaction
        )
    }
}

/// The number of images in an item, and the bytes of their data.
fn images_of(item: &ResponseItem) -> (usize, usize) {
    let mut found = (0, 0);
    let mut count = |url: &str| {
        found.0 += 1;
        found.1 += url.len();
    };
    match item {
        ResponseItem::Message { content, .. } => content.iter().for_each(|part| {
            if let ContentItem::InputImage { image_url, .. } = part {
                count(image_url);
            }
        }),
        ResponseItem::FunctionCallOutput { output, .. }
        | ResponseItem::CustomToolCallOutput { output, .. } => {
            if let FunctionCallOutputBody::Content(parts) = output {
                parts.iter().for_each(|part| {
                    if let FunctionCallOutputContentItem::InputImage { image_url, .. } = part {
                        count(image_url);
                    }
                });
            }
        }
        ResponseItem::ImageGenerationCall { result, .. } => count(result),
        _ => {}
    }
    found
}

/// The estimated size of encrypted content.
fn encrypted_bytes(item: &ResponseItem) -> usize {
    let encrypted = match item {
        ResponseItem::Reasoning {
            encrypted_content, ..
        } => encrypted_content.as_deref(),
        ResponseItem::Compaction { encrypted_content } => Some(encrypted_content.as_str()),
        _ => None,
    };
    encrypted.map_or(0, |text| (text.len() * 3 / 4).saturating_sub(650))
}

/// The output for a call that got none.
pub(super) fn aborted_output(link: &CallLink) -> ResponseItem {
    let call_id = link.id.to_string();
    let output = FunctionCallOutputBody::Text("aborted".into());
    match link.family {
        CallFamily::Function => ResponseItem::FunctionCallOutput { call_id, output },
        CallFamily::Custom => ResponseItem::CustomToolCallOutput {
            call_id,
            name: None,
            output,
        },
        CallFamily::ToolSearch => ResponseItem::ToolSearchOutput {
            call_id: Some(call_id),
            status: "completed".to_owned(),
            execution: "client".to_owned(),
            tools: Vec::new(),
        },
    }
}
