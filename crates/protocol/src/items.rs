//! The items of a turn as the engine reports them to clients, derived from the model's items.
//!
//! Commands, patches and tool calls are not among them: they have begin and end events of their own.

use codex_app_server_protocol_macros::Tagged;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::function_output::FunctionCallOutputBody;
use crate::response_item::{MessagePhase, WebSearchAction};
use crate::user_input::UserInput;

/// An item of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum TurnItem {
    /// A message of the user.
    UserMessage(UserMessageItem),
    /// Text that hooks added to the conversation.
    HookPrompt(HookPromptItem),
    /// A message of the model.
    AgentMessage(AgentMessageItem),
    /// A plan that the model proposes.
    Plan(PlanItem),
    /// Reasoning of the model.
    Reasoning(ReasoningItem),
    /// A web search.
    WebSearch(WebSearchItem),
    /// An image that the model made.
    ImageGeneration(ImageGenerationItem),
    /// The output of a client tool that the model did not call.
    FunctionCallOutput(FunctionCallOutputItem),
    /// The history was compacted.
    ContextCompaction(ContextCompactionItem),
    /// An item of an unknown kind.
    #[tagged(unknown)]
    #[serde(untagged)]
    Unknown(Value),
}

impl TurnItem {
    /// The id of the item, if it has one.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::UserMessage(item) => Some(&item.id),
            Self::HookPrompt(item) => Some(&item.id),
            Self::AgentMessage(item) => Some(&item.id),
            Self::Plan(item) => Some(&item.id),
            Self::Reasoning(item) => Some(&item.id),
            Self::WebSearch(item) => Some(&item.id),
            Self::ImageGeneration(item) => Some(&item.id),
            Self::FunctionCallOutput(item) => Some(&item.id),
            Self::ContextCompaction(item) => Some(&item.id),
            Self::Unknown(item) => item.get("id").and_then(Value::as_str),
        }
    }
}

/// The output of a client tool that the model did not call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCallOutputItem {
    /// The id of the item.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The namespace of the tool, if it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The answer.
    pub output: FunctionCallOutputBody,
}

/// A message of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessageItem {
    /// The id of the item.
    pub id: String,
    /// The client's id of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The parts of the message.
    pub content: Vec<UserInput>,
}

impl UserMessageItem {
    /// The joined texts, and the number of images.
    pub fn text_and_image_count(&self) -> (String, usize) {
        let text = |input: &UserInput| match input {
            UserInput::Text { text, .. } => Some(text.clone()),
            _ => None,
        };
        let is_image = |input: &&UserInput| {
            matches!(
                input,
                UserInput::Image { .. } | UserInput::LocalImage { .. }
            )
        };
        let images = self.content.iter().filter(is_image).count();
        (self.content.iter().filter_map(text).collect(), images)
    }
}

/// Text that hooks added to the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookPromptItem {
    /// The id of the item.
    pub id: String,
    /// One fragment for each hook with output.
    pub fragments: Vec<HookPromptFragment>,
}

/// What one hook had to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookPromptFragment {
    /// Text that the agent receives.
    pub text: String,
    /// Run that produced it, as in `hook/completed`.
    pub hook_run_id: String,
}

/// A message of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMessageItem {
    /// The id of the item.
    pub id: String,
    /// The parts of the message.
    pub content: Vec<AgentMessageContent>,
    /// Whether the message is commentary or the final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<MessagePhase>,
    /// The memories that the message cites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_citation: Option<MemoryCitation>,
    /// Whether the model was interrupted in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// A part of a message of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged)]
#[serde(tag = "type")]
pub enum AgentMessageContent {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
}

/// The memories that a message cites.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryCitation {
    /// The places cited.
    pub entries: Vec<MemoryCitationEntry>,
    /// The threads that the memories come from.
    pub rollout_ids: Vec<String>,
}

/// One cited passage of a memory file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryCitationEntry {
    /// Path of the memory file, as the model wrote it.
    pub path: String,
    /// First line of the passage.
    pub line_start: u32,
    /// Last line of the passage, inclusive.
    pub line_end: u32,
    /// What the passage was used for.
    pub note: String,
}

/// A plan that the model proposes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanItem {
    /// The id of the item.
    pub id: String,
    /// The plan.
    pub text: String,
}

/// Reasoning of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningItem {
    /// The id of the item.
    pub id: String,
    /// The parts of the summary.
    pub summary_text: Vec<String>,
    /// The parts of the unabridged reasoning, if the model exposes it.
    #[serde(default)]
    pub raw_content: Vec<String>,
}

/// A web search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebSearchItem {
    /// The id of the item.
    pub id: String,
    /// The query as a text.
    pub query: String,
    /// The action of the search tool.
    pub action: WebSearchAction,
}

/// An image that the model made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageGenerationItem {
    /// The id of the item.
    pub id: String,
    /// The status.
    pub status: String,
    /// The prompt that the image was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revised_prompt: Option<String>,
    /// The image, in base64.
    pub result: String,
    /// The file that the image was saved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_path: Option<String>,
}

/// The history was compacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextCompactionItem {
    /// The id of the item.
    pub id: String,
}
