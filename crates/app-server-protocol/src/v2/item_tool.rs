//! Parts of the items for tool calls that leave the engine: MCP servers, tools of the client, other
//! agents, web search.

use codex_app_server_protocol_macros::{Experimental, Tagged};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// State of a call to an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpToolCallStatus {
    /// Waiting for the server.
    InProgress,
    /// The tool returned a result.
    Completed,
    /// The tool reported an error, or no answer came.
    Failed,
}

/// What an MCP tool returned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct McpToolCallResult {
    /// Content blocks, in the form MCP defines.
    pub content: Vec<Value>,
    /// Machine-readable result; null if the tool gives none.
    #[serde(default)]
    pub structured_content: Value,
    /// What the server says beside the result; absent if it says nothing.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub meta: Option<Value>,
}

/// Why a call to an MCP server got no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpToolCallError {
    /// Text for the user.
    pub message: String,
}

/// State of a call to a tool of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DynamicToolCallStatus {
    /// Waiting for the client.
    InProgress,
    /// The client reported success.
    Completed,
    /// The client reported failure, or its answer could not be used.
    Failed,
}

/// One part of what a tool of the client returns to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum DynamicToolCallOutputContentItem {
    /// Text.
    InputText {
        /// The text, which the model reads as it is.
        text: String,
    },
    /// An image.
    InputImage {
        /// Web address or data URL of the image.
        image_url: String,
    },
}

/// What an agent does with other agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CollabAgentTool {
    /// Starts a new agent on a task.
    SpawnAgent,
    /// Sends a message to an agent.
    SendInput,
    /// Loads an agent again that had been closed.
    ResumeAgent,
    /// Waits until one of several agents is finished.
    Wait,
    /// Shuts an agent down, with those it spawned.
    CloseAgent,
}

/// State of a call that directs other agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CollabAgentToolCallStatus {
    /// The call runs.
    InProgress,
    /// The call did its work.
    Completed,
    /// An agent concerned has failed or does not exist, or none could be spawned.
    Failed,
}

/// Last known state of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CollabAgentState {
    /// What the agent is doing, or how it ended.
    pub status: CollabAgentStatus,
    /// Its final message, or the text of its error; null if there is neither.
    pub message: Option<String>,
}

/// What an agent is doing, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CollabAgentStatus {
    /// Spawned; its first turn has not begun.
    PendingInit,
    /// A turn of it is running.
    Running,
    /// Its turn was interrupted; it can be given more to do.
    Interrupted,
    /// Its last turn ended normally.
    Completed,
    /// Its last turn ended with an error.
    Errored,
    /// It was closed.
    Shutdown,
    /// No agent has that id.
    NotFound,
}

/// One step of a web search at the model provider.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum WebSearchAction {
    /// A query to a search engine.
    Search {
        /// The query; null if the provider does not tell.
        query: Option<String>,
        /// All queries, if several were made at once; null otherwise.
        queries: Option<Vec<String>>,
    },
    /// A page that was opened.
    OpenPage {
        /// Address of the page; null if the provider does not tell.
        url: Option<String>,
    },
    /// A look for a text on a page.
    FindInPage {
        /// Address of the page; null if the provider does not tell.
        url: Option<String>,
        /// Text that was looked for; null if the provider does not tell.
        pattern: Option<String>,
    },
    /// Not known yet, or a kind without a name here.
    Other,
}
