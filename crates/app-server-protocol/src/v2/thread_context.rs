//! What the context of a thread is made of.

use codex_app_server_protocol_macros::Experimental;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `thread/context/read`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadContextReadParams {
    /// Thread that is asked about; it must be loaded.
    pub thread_id: String,
}

/// What a part of a context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadContextPartKind {
    /// Instructions of the model.
    Instructions,
    /// Definitions of tools.
    Tools,
    /// Files with instructions, such as AGENTS.md.
    ProjectInstructions,
    /// List of skills, and the texts of those in use.
    Skills,
    /// What is remembered of earlier threads.
    Memories,
    /// Permissions, modes, the environment and other messages of the engine.
    Settings,
    /// What the user has pinned.
    Pins,
    /// Summaries of compactions.
    Summaries,
    /// What the user wrote.
    UserMessages,
    /// What the model and other agents wrote.
    AgentMessages,
    /// Reasoning of the model.
    Reasoning,
    /// Calls of tools.
    ToolCalls,
    /// Outputs of tools.
    ToolOutputs,
    /// Images.
    Images,
}

/// A part of a context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadContextPart {
    /// What it is.
    pub kind: ThreadContextPartKind,
    /// Number of tools, items or sections in it.
    pub count: u64,
    /// Estimated tokens.
    pub tokens: u64,
    /// Tokens of it that the server had in its cache at the last request.
    pub cached_tokens: u64,
    /// Its tokens in percent of the whole context.
    pub percent: f64,
}

/// A tool that the model is offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadContextTool {
    /// Name that the model knows it by.
    pub name: String,
    /// Estimated tokens.
    pub tokens: u64,
    /// Tokens of it that the server had in its cache at the last request.
    pub cached_tokens: u64,
    /// Its tokens in percent of the whole context.
    pub percent: f64,
}

/// Reply to `thread/context/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadContextReadResponse {
    /// Model that the context is for.
    pub model: String,
    /// Tokens that the model may use; null if they are not known.
    pub context_window: Option<i64>,
    /// Estimated tokens of the whole context.
    pub tokens: u64,
    /// Input of the last request in tokens, as the server counted it; null if it did not.
    pub last_input_tokens: Option<u64>,
    /// How much of that the server had in its cache.
    pub last_cached_tokens: Option<u64>,
    /// Whether MCP servers have not been asked for their tools yet, so that these are missing.
    pub lacks_server_tools: bool,
    /// The parts in the order in which they are sent first, without those that are empty.
    pub parts: Vec<ThreadContextPart>,
    /// The largest tools.
    pub tools: Vec<ThreadContextTool>,
    /// How many tools are not among them.
    pub more_tools: u64,
}
