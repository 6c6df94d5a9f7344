//! Tools that a client provides: how it registers them and how the server has them run.

use codex_app_server_protocol_macros::Experimental;
pub use codex_protocol::DynamicToolSpec;
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::v2::DynamicToolCallOutputContentItem;

/// Params of `item/tool/call`: the model calls a tool of the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct DynamicToolCallParams {
    /// Thread that the tool is registered with.
    pub thread_id: String,
    /// Turn that waits for the result.
    pub turn_id: String,
    /// Id of the call, which is also the id of its `dynamicToolCall` item.
    pub call_id: String,
    /// Namespace of the tool; absent if it is in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub namespace: Option<String>,
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
