//! Events about the smaller tools: those that the client carries out, web search, images.

use std::time::Duration;

use codex_app_server_protocol_macros::Tagged;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::response_item::WebSearchAction;

/// The client is to carry out a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCallRequestEvent {
    /// The call.
    pub call_id: String,
    /// The turn.
    pub turn_id: String,
    /// The namespace of the tool, if it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
}

/// A tool call that the client carried out is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DynamicToolCallResponseEvent {
    /// The call.
    pub call_id: String,
    /// The turn.
    pub turn_id: String,
    /// The namespace of the tool, if it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
    /// What the tool answered.
    pub content_items: Vec<DynamicToolContentItem>,
    /// Whether it succeeded.
    pub success: bool,
    /// What went wrong, if something did.
    pub error: Option<String>,
    /// How long it took.
    pub duration: Duration,
}

/// A part of what a client's tool answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum DynamicToolContentItem {
    /// Text.
    InputText {
        /// The text.
        text: String,
    },
    /// An image.
    InputImage {
        /// Where the image is: a URL, often a `data:` one.
        image_url: String,
    },
}

/// A search of the web started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebSearchBeginEvent {
    /// The search.
    pub call_id: String,
}

/// A search of the web ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebSearchEndEvent {
    /// The search.
    pub call_id: String,
    /// What was looked for, in words.
    pub query: String,
    /// What was done.
    pub action: WebSearchAction,
}

/// An image is being made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageGenerationBeginEvent {
    /// The image.
    pub call_id: String,
}

/// An image was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageGenerationEndEvent {
    /// The image.
    pub call_id: String,
    /// How it ended.
    pub status: String,
    /// The prompt that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revised_prompt: Option<String>,
    /// The image, in base64.
    pub result: String,
    /// The file that it was saved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_path: Option<String>,
}

/// The model looks at an image file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewImageToolCallEvent {
    /// The call.
    pub call_id: String,
    /// The path of the file.
    pub path: String,
}
