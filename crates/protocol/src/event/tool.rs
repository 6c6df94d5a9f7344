//! Events about client tools, web searches and images.

use std::time::Duration;

use codex_app_server_protocol_macros::Tagged;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::response_item::WebSearchAction;

/// A call of a tool that the client runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCallRequestEvent {
    pub call_id: String,
    pub turn_id: String,
    /// The namespace of the tool, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub tool: String,
    pub arguments: Value,
}

/// The result of a tool that the client ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DynamicToolCallResponseEvent {
    pub call_id: String,
    pub turn_id: String,
    /// The namespace of the tool, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub tool: String,
    pub arguments: Value,
    /// The output of the tool.
    pub content_items: Vec<DynamicToolContentItem>,
    /// Whether it succeeded.
    pub success: bool,
    /// The error message of a failed call.
    pub error: Option<String>,
    /// The duration.
    pub duration: Duration,
}

/// A part of the output of a client tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum DynamicToolContentItem {
    InputText {
        text: String,
    },
    InputImage {
        /// The URL of the image, often a `data:` URL.
        image_url: String,
    },
}

/// A web search started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebSearchBeginEvent {
    pub call_id: String,
}

/// A web search ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebSearchEndEvent {
    pub call_id: String,
    /// The query as a text.
    pub query: String,
    /// The action of the search tool.
    pub action: WebSearchAction,
}

/// The generation of an image started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageGenerationBeginEvent {
    pub call_id: String,
}

/// The generation of an image ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageGenerationEndEvent {
    pub call_id: String,
    pub status: String,
    /// The prompt that the generator used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revised_prompt: Option<String>,
    /// The image in base64.
    pub result: String,
    /// The file that contains the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_path: Option<String>,
}

/// The model views an image file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewImageToolCallEvent {
    pub call_id: String,
    /// The path of the file.
    pub path: String,
}
