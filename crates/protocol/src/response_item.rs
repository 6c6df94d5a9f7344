//! The items of the Responses API: what a model is sent and what it answers, which is also what the
//! history of a thread is made of.
//!
//! The ids that the model gives to messages, reasoning and calls are read, for those who need them,
//! and never written: neither requests nor rollout files carry them. A provider that wants them back
//! gets them from [`ResponseItem::id`]. An item whose type is not known is kept whole.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::Tagged;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::function_output::FunctionCallOutputBody;
use crate::tagged;
use crate::tagged::OtherSchema;

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentItem {
    /// Text for the model.
    InputText {
        /// The text.
        text: String,
    },
    /// An image for the model.
    InputImage {
        /// Where the image is: a URL, often a `data:` one.
        image_url: String,
    },
    /// Text from the model.
    OutputText {
        /// The text.
        text: String,
    },
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

/// What a local shell call asks for.
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

/// How far a local shell call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LocalShellStatus {
    /// It is done.
    Completed,
    /// It is being written.
    InProgress,
    /// It was cut off.
    Incomplete,
}

/// The part that a message plays in its turn.
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

/// An item of the conversation with the model.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(transform = tagged::exactly_one)]
#[non_exhaustive]
pub enum ResponseItem {
    /// A message of any role.
    Message {
        /// Who speaks: `user`, `assistant`, `developer` or `system`.
        role: String,
        /// What is said.
        content: Vec<ContentItem>,
        /// Whether the model means to end its turn with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end_turn: Option<bool>,
        /// The part it plays in the turn.
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
    /// The model asks for a program to be run, by its built-in shell tool.
    LocalShellCall {
        /// The id that the output refers to.
        call_id: Option<String>,
        /// How far the call has come.
        status: LocalShellStatus,
        /// What to run.
        action: LocalShellAction,
        /// An id of older servers, used where there is no call id.
        #[serde(default, skip_serializing)]
        id: Option<String>,
    },
    /// The model calls a function tool.
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
    /// The model looks for tools.
    ToolSearchCall {
        /// The id that the output refers to.
        call_id: Option<String>,
        /// How far the call has come.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        /// Who carries it out: `client` or `server`.
        execution: String,
        /// What to look for.
        arguments: Value,
        /// The id that the model gave the item.
        #[serde(default, skip_serializing)]
        id: Option<String>,
    },
    /// What a function tool or a shell call answered.
    FunctionCallOutput {
        /// The call that it answers.
        call_id: String,
        /// The answer.
        output: FunctionCallOutputBody,
    },
    /// The model calls a tool that takes free text.
    CustomToolCall {
        /// How far the call has come.
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
    /// What a tool that takes free text answered.
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
        /// Who carried it out: `client` or `server`.
        execution: String,
        /// The tools, as they would stand in a request.
        tools: Vec<Value>,
    },
    /// The model searched the web.
    WebSearchCall {
        /// How far the call has come.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        /// What it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<WebSearchAction>,
        /// The id that the model gave the item.
        #[serde(default, skip_serializing)]
        id: Option<String>,
    },
    /// The model made an image.
    ImageGenerationCall {
        /// The id that the model gave it.
        id: String,
        /// How far the call has come.
        status: String,
        /// The prompt that the image was made from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revised_prompt: Option<String>,
        /// The image, in base64.
        result: String,
    },
    /// A snapshot of the working tree. Kept in the history, never sent to the model.
    GhostSnapshot {
        /// The commit that holds it.
        ghost_commit: GhostCommit,
    },
    /// What a server's compaction made of the history before it.
    #[serde(alias = "compaction_summary")]
    Compaction {
        /// The compacted history, in a form that only the model's server can read.
        encrypted_content: String,
    },
    /// An item of a type that is not known.
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
            | Self::WebSearchCall { id, .. } => id.as_deref(),
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
            | Self::WebSearchCall { id, .. } => *id = Some(new.to_owned()),
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

/// What the model did on the web.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(transform = tagged::exactly_one)]
#[non_exhaustive]
#[schemars(rename = "ResponsesApiWebSearchAction")]
pub enum WebSearchAction {
    /// It searched.
    Search {
        /// What for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        query: Option<String>,
        /// What for, when it searched for several things at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queries: Option<Vec<String>>,
    },
    /// It opened a page.
    OpenPage {
        /// Which.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
    /// It looked for text in a page.
    FindInPage {
        /// Which page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// Which text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
    },
    /// Something that is not known.
    #[tagged(unknown)]
    #[serde(untagged)]
    #[schemars(with = "OtherSchema")]
    Other(Value),
}
