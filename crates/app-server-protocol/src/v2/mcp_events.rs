//! Events of MCP servers.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Payload of `mcpServer/event/stream/notification`: an event of an MCP server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerEventStreamNotification {
    /// The notification of the server.
    pub notification: McpServerEventNotification,
    /// Name that the client chose for the subscription.
    pub subscription_id: String,
}

/// Params of `mcpServer/event/stream/start`: subscribes to events of an MCP server.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct McpServerEventStreamStartParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Metadata of the MCP server, passed on as it is.
    #[serde(rename = "_meta")]
    pub meta: Option<Value>,
    /// Arguments of the call.
    pub arguments: Value,
    /// Name for people.
    pub name: String,
    /// Configured name of the MCP server.
    pub server: String,
    /// Name that the client chose for the subscription.
    pub subscription_id: String,
}

/// Reply to `mcpServer/event/stream/start`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpServerEventStreamStartResponse {}

/// Params of `mcpServer/event/stream/stop`: ends a subscription to events of an MCP server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct McpServerEventStreamStopParams {
    /// Name that the client chose for the subscription.
    pub subscription_id: String,
}

/// Reply to `mcpServer/event/stream/stop`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpServerEventStreamStopResponse {}

/// None
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerEventNotification {
    /// Name of the notification.
    pub method: String,
    /// Params of the notification.
    pub params: Value,
}
