//! An item of the history, and a digest of what the engine asks about it.

use std::sync::Arc;

use codex_protocol::{
    ContentItem, FunctionCallOutputBody, FunctionCallOutputContentItem, GhostCommit, ResponseItem,
};

use super::contextual::{is_contextual, tells_settings};
use super::truncate::tokens_of;

/// What an image counts in an estimate, whatever its data weigh.
const IMAGE_BYTES: usize = 7373;

/// What kind of item it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// What a person said.
    UserTurn,
    /// What the engine said as role `user`.
    UserContext,
    /// A developer message; whether it tells settings.
    Developer { settings: bool },
    /// What the model said.
    Assistant,
    /// What the model thought.
    Reasoning,
    /// A call that wants an output.
    Call(CallLink),
    /// The output of a call.
    Output(CallLink),
    /// What the provider did by itself: searches, images.
    Hosted,
    /// Kept, never sent.
    Snapshot,
    /// What a provider's compaction left.
    Compaction,
}

impl EntryKind {
    /// The kind of an item; none for items that have no place in a history.
    pub(crate) fn of(item: &ResponseItem) -> Option<Self> {
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
                    settings: tells_settings(content),
                },
                _ => return None,
            },
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
            ResponseItem::GhostSnapshot { .. } => Self::Snapshot,
            ResponseItem::Compaction { .. } => Self::Compaction,
            _ => return None,
        })
    }
}

/// What ties a call and its output together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallLink {
    pub(crate) family: CallFamily,
    pub(crate) id: Arc<str>,
}

/// Which type of output a call wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CallFamily {
    Function,
    Custom,
    ToolSearch,
}

/// An item of the history.
#[derive(Clone, Debug)]
pub(crate) struct HistoryEntry {
    pub(crate) kind: EntryKind,
    /// What is kept and never sent; the item of any other entry is in the prompt.
    pub(crate) snapshot: Option<Box<GhostCommit>>,
    /// An estimate.
    pub(crate) tokens: usize,
    pub(crate) has_images: bool,
}

impl HistoryEntry {
    /// The entry of an item whose JSON has so many bytes.
    pub(crate) fn new(kind: EntryKind, item: ResponseItem, length: usize) -> Self {
        let (images, image_bytes) = images_of(&item);
        let bytes = length.saturating_sub(image_bytes) + images * IMAGE_BYTES;
        let tokens = match &kind {
            EntryKind::Snapshot => 0,
            EntryKind::Reasoning | EntryKind::Compaction => tokens_of(encrypted_bytes(&item)),
            _ => tokens_of(bytes),
        };
        Self {
            kind,
            snapshot: match item {
                ResponseItem::GhostSnapshot { ghost_commit } => Some(Box::new(ghost_commit)),
                _ => None,
            },
            tokens,
            has_images: images > 0,
        }
    }

    /// Whether requests carry it.
    pub(crate) fn is_sent(&self) -> bool {
        self.snapshot.is_none()
    }

    /// Whether the model made it, or the engine at its request.
    pub(crate) fn is_from_model(&self) -> bool {
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

/// How many images an item holds, and how many bytes of it are their data.
fn images_of(item: &ResponseItem) -> (usize, usize) {
    let mut found = (0, 0);
    let mut count = |url: &str| {
        found.0 += 1;
        found.1 += url.len();
    };
    match item {
        ResponseItem::Message { content, .. } => content.iter().for_each(|part| {
            if let ContentItem::InputImage { image_url } = part {
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

/// What encrypted content stands for, as an estimate.
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

/// The output that a call gets which never got one.
pub(crate) fn aborted_output(link: &CallLink) -> ResponseItem {
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
