//! The items of the Responses API: the input and output of a model. The history of a thread consists
//! of them.
//!
//! The ids that the model gives to messages, reasoning and calls are read, for those who need them,
//! and never written: neither requests nor rollout files carry them. A provider that wants them back
//! gets them from [`ResponseItem::id`]. An item whose type is not known is kept whole.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, Tagged};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::tagged;
use crate::tagged::OtherSchema;
use crate::{function_output::FunctionCallOutputBody, mark_members};

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema, Experimental)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(transform = require_image_url)]
#[schemars(transform = mark_members::<Self>)]
pub enum ContentItem {
    /// Text for the model.
    InputText {
        /// The text.
        text: String,
    },
    /// An image for the model.
    InputImage {
        /// Where the image is: a URL, often a `data:` one; empty if there is an id.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        image_url: String,
        /// The id of the image, if it is a file that the provider keeps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.169")]
        file_id: Option<String>,
        /// In which detail the model should look at it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.140")]
        detail: Option<ImageDetail>,
    },
    /// Text from the model.
    OutputText {
        /// The text.
        text: String,
    },
}

fn require_image_url(schema: &mut Schema) {
    require_member(schema, "image_url");
}

/// Makes a member required wherever a variant of the type has it: it is only absent where clients leave it out.
pub fn require_member(schema: &mut Schema, member: &str) {
    let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten() {
        let has_it = variant["properties"].get(member).is_some();
        let required = variant.get_mut("required").and_then(Value::as_array_mut);
        if let Some(names) = required.filter(|names| has_it && !names.contains(&json!(member))) {
            names.push(json!(member));
        }
    }
}

/// The state of a working tree, captured as a commit that no branch knows of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GhostCommit {
    /// The id of the commit.
    pub id: String,
    /// The commit that was checked out, if there was one.
    pub parent: Option<String>,
    /// Untracked files that were there already.
    pub preexisting_untracked_files: Vec<String>,
    /// Untracked folders that were there already.
    pub preexisting_untracked_dirs: Vec<String>,
}

/// In which detail the model should look at an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ImageDetail {
    /// As the model sees fit.
    Auto,
    /// Little.
    Low,
    /// Much.
    High,
    /// In full resolution.
    Original,
}

/// The action of a local shell call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum LocalShellAction {
    /// Run a program.
    Exec(LocalShellExecAction),
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LocalShellExecAction {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Environment variables to set.
    pub env: Option<BTreeMap<String, String>>,
    /// After how many milliseconds to give up.
    pub timeout_ms: Option<u64>,
    /// The user to run as.
    pub user: Option<String>,
    /// The folder to run in.
    pub working_directory: Option<String>,
}

/// The status of a local shell call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LocalShellStatus {
    /// Completed.
    Completed,
    /// It is being written.
    InProgress,
    /// Incomplete.
    Incomplete,
}

/// Whether a message is commentary or the final answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessagePhase {
    /// It accompanies the work.
    Commentary,
    /// It is the answer.
    FinalAnswer,
}

/// A part of the reasoning itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReasoningItemContent {
    /// Reasoning, as the model thought it.
    ReasoningText {
        /// The text.
        text: String,
    },
    /// Reasoning, as some other servers spell it.
    Text {
        /// The text.
        text: String,
    },
}

/// A part of the summary of reasoning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReasoningItemReasoningSummary {
    /// Text.
    SummaryText {
        /// The text.
        text: String,
    },
}

/// A part of a message from one agent to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentMessagePart {
    /// Text of the engine.
    InputText {
        /// The text.
        text: String,
    },
    /// What the sender wrote, as the model's server delivered it.
    EncryptedContent {
        /// The text, which only the server may be able to read.
        encrypted_content: String,
    },
}

/// An item of the conversation with the model.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema, Experimental)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(transform = tagged::exactly_one)]
#[non_exhaustive]
#[schemars(transform = mark_members::<Self>)]
pub enum ResponseItem {
    /// A message of any role.
    Message {
        /// The role: `user`, `assistant`, `developer` or `system`.
        role: String,
        /// The content.
        content: Vec<ContentItem>,
        /// Whether the model means to end its turn with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[until("0.117")]
        end_turn: Option<bool>,
        /// Whether the message is commentary or the final answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<MessagePhase>,
        /// The id that the model gave it.
        #[serde(default, skip_serializing)]
        id: Option<String>,
    },
    /// The model's reasoning.
    Reasoning {
        /// A summary of it, in parts.
        summary: Vec<ReasoningItemReasoningSummary>,
        /// The reasoning itself, where the model shows it.
        #[serde(default)]
        content: Option<Vec<ReasoningItemContent>>,
        /// The reasoning in a form that only the model's server can read.
        encrypted_content: Option<String>,
        /// The id that the model gave it.
        #[serde(default, skip_serializing)]
        #[schemars(skip)]
        id: Option<String>,
    },
    /// A call of the built-in local shell tool.
    LocalShellCall {
        /// The id that the output refers to.
        call_id: Option<String>,
        /// The status of the call.
        status: LocalShellStatus,
        /// What to run.
        action: LocalShellAction,
        /// An id of older servers, used where there is no call id.
        #[serde(default, skip_serializing)]
        id: Option<String>,
    },
    /// A call of a function tool.
    FunctionCall {
        /// The name of the tool.
        name: String,
        /// The group of tools that the name belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        /// The arguments, as the JSON text that the model wrote.
        arguments: String,
        /// The id that the output refers to.
        call_id: String,
        /// The id that the model gave the item.
        #[serde(default, skip_serializing)]
        id: Option<String>,
    },
    /// A search for tools.
    ToolSearchCall {
        /// The id that the output refers to.
        call_id: Option<String>,
        /// The status of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        /// The executor: `client` or `server`.
        execution: String,
        /// What to look for.
        arguments: Value,
        /// The id that the model gave the item.
        #[serde(default, skip_serializing)]
        id: Option<String>,
    },
    /// The output of a function tool or a shell call.
    FunctionCallOutput {
        /// The call that it answers.
        call_id: String,
        /// The answer.
        output: FunctionCallOutputBody,
    },
    /// A call of a custom tool, whose input is free text.
    CustomToolCall {
        /// The status of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        /// The id that the output refers to.
        call_id: String,
        /// The name of the tool.
        name: String,
        /// The text for it.
        input: String,
        /// The id that the model gave the item.
        #[serde(default, skip_serializing)]
        id: Option<String>,
    },
    /// The output of a custom tool.
    CustomToolCallOutput {
        /// The call that it answers.
        call_id: String,
        /// The name of the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The answer.
        output: FunctionCallOutputBody,
    },
    /// The tools that a search found.
    ToolSearchOutput {
        /// The call that it answers.
        call_id: Option<String>,
        /// How the search ended.
        status: String,
        /// The executor: `client` or `server`.
        execution: String,
        /// The tools, as they would stand in a request.
        tools: Vec<Value>,
    },
    /// A web search.
    WebSearchCall {
        /// The status of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        /// The action.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<WebSearchAction>,
        /// The id that the model gave the item.
        #[serde(default, skip_serializing)]
        id: Option<String>,
    },
    /// The generation of an image.
    ImageGenerationCall {
        /// The id that the model gave it.
        id: String,
        /// The status of the call.
        status: String,
        /// The prompt that the image was made from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revised_prompt: Option<String>,
        /// The image, in base64.
        result: String,
    },
    /// A snapshot of the working tree. Kept in the history, never sent to the model.
    #[until("0.117")]
    GhostSnapshot {
        /// The commit that holds it.
        ghost_commit: GhostCommit,
    },
    /// A history that the server compacted.
    #[serde(alias = "compaction_summary")]
    Compaction {
        /// The compacted history, in a form that only the model's server can read.
        encrypted_content: String,
    },
    /// A message from one agent to another.
    #[schemars(skip)]
    AgentMessage {
        /// The path of the sender.
        author: String,
        /// The path of the receiver.
        recipient: String,
        /// The parts of the message.
        content: Vec<AgentMessagePart>,
        /// The id of the item.
        #[serde(default, skip_serializing)]
        id: Option<String>,
    },
    /// An item of an unknown type.
    #[tagged(unknown)]
    #[serde(untagged)]
    #[schemars(with = "OtherSchema")]
    Other(Value),
}

impl ResponseItem {
    /// The id that the model gave the item, if it gave one.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Message { id, .. }
            | Self::Reasoning { id, .. }
            | Self::LocalShellCall { id, .. }
            | Self::FunctionCall { id, .. }
            | Self::ToolSearchCall { id, .. }
            | Self::CustomToolCall { id, .. }
            | Self::WebSearchCall { id, .. }
            | Self::AgentMessage { id, .. } => id.as_deref(),
            Self::ImageGenerationCall { id, .. } => Some(id),
            Self::Other(item) => item.get("id").and_then(Value::as_str),
            Self::FunctionCallOutput { .. }
            | Self::CustomToolCallOutput { .. }
            | Self::ToolSearchOutput { .. }
            | Self::GhostSnapshot { .. }
            | Self::Compaction { .. } => None,
        }
    }

    /// Gives back the id that is left out of the item's JSON. Without effect on items whose JSON has it.
    pub fn set_id(&mut self, new: &str) {
        match self {
            Self::Message { id, .. }
            | Self::Reasoning { id, .. }
            | Self::LocalShellCall { id, .. }
            | Self::FunctionCall { id, .. }
            | Self::ToolSearchCall { id, .. }
            | Self::CustomToolCall { id, .. }
            | Self::WebSearchCall { id, .. }
            | Self::AgentMessage { id, .. } => *id = Some(new.to_owned()),
            Self::ImageGenerationCall { .. }
            | Self::Other(_)
            | Self::FunctionCallOutput { .. }
            | Self::CustomToolCallOutput { .. }
            | Self::ToolSearchOutput { .. }
            | Self::GhostSnapshot { .. }
            | Self::Compaction { .. } => {}
        }
    }
}

/// The action of a web search tool.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(transform = tagged::exactly_one)]
#[non_exhaustive]
#[schemars(rename = "ResponsesApiWebSearchAction")]
pub enum WebSearchAction {
    /// A search.
    Search {
        /// The query.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        query: Option<String>,
        /// The queries, if there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queries: Option<Vec<String>>,
    },
    /// A page was opened.
    OpenPage {
        /// Which.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
    /// A search inside a page.
    FindInPage {
        /// The address of the page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// The text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
    },
    /// An unknown action.
    #[tagged(unknown)]
    #[serde(untagged)]
    #[schemars(with = "OtherSchema")]
    Other(Value),
}
