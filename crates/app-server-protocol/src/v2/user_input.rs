//! Questions that the agent puts to the user through a tool, and the answers.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::Experimental;
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `item/tool/requestUserInput`: questions from the agent to the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ToolRequestUserInputParams {
    /// Thread that asks.
    pub thread_id: String,
    /// Turn that waits for the answers.
    pub turn_id: String,
    /// Id of the tool call that asks.
    pub item_id: String,
    /// Questions to show together, in order.
    pub questions: Vec<ToolRequestUserInputQuestion>,
    /// Whether the turn waits for the answers, which it always does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub is_blocking: Option<bool>,
}

/// One question to the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputQuestion {
    /// Key of the answer; chosen by the agent.
    pub id: String,
    /// A few words to head the question with.
    pub header: String,
    /// The question in full.
    pub question: String,
    /// Whether to also take an answer in the user's own words; false by default.
    #[serde(default)]
    pub is_other: bool,
    /// Whether to hide what the user types; false by default.
    #[serde(default)]
    pub is_secret: bool,
    /// Answers to choose from; null if the user is to write one.
    pub options: Option<Vec<ToolRequestUserInputOption>>,
}

/// One answer to choose from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputOption {
    /// Text to choose by, which is also the answer.
    pub label: String,
    /// What choosing it would mean.
    pub description: String,
}

/// Reply to `item/tool/requestUserInput`; an unreadable one counts as no answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputResponse {
    /// Answers by question id; questions left out stay unanswered.
    pub answers: BTreeMap<String, ToolRequestUserInputAnswer>,
}

/// Answer to one question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputAnswer {
    /// Labels that were chosen, and texts that the user wrote.
    pub answers: Vec<String>,
}
