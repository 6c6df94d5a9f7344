//! Tools that a client provides: how it registers them and how the server has them run.

use codex_app_server_protocol_macros::Experimental;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::v2::DynamicToolCallOutputContentItem;

/// A tool that a client provides for a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolSpec {
    /// Name the model calls it by: unique, no blanks around it, not `mcp`, not beginning `mcp__`.
    pub name: String,
    /// What the tool does, for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// Whether the tool stays callable without being listed to the model; false by default.
    #[serde(default)]
    pub defer_loading: bool,
}

/// Params of `item/tool/call`: the model calls a tool of the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCallParams {
    /// Thread that the tool is registered with.
    pub thread_id: String,
    /// Turn that waits for the result.
    pub turn_id: String,
    /// Id of the call, which is also the id of its `dynamicToolCall` item.
    pub call_id: String,
    /// Name of the tool, as registered.
    pub tool: String,
    /// Arguments that the model gave; not checked against the tool's schema.
    pub arguments: Value,
}

/// Reply to `item/tool/call`; an error or an unreadable reply counts as failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCallResponse {
    /// Output for the model, in order.
    pub content_items: Vec<DynamicToolCallOutputContentItem>,
    /// Whether the tool did its work.
    pub success: bool,
}
