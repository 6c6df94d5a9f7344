//! Using MCP servers without a turn.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Params of `mcpServer/resource/read`: reads a resource of an MCP server.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct McpResourceReadParams {
    /// Thread that it concerns.
    pub thread_id: Option<String>,
    /// Metadata of the MCP server, passed on as it is.
    #[serde(rename = "_meta")]
    #[since("0.169")]
    pub meta: Option<BTreeMap<String, Value>>,
    /// Connector that the contents come from; null if there is none.
    #[since("0.169")]
    pub connector_id: Option<String>,
    /// Call that the resource belongs to; null if there is none.
    #[since("0.169")]
    pub origin_call_id: Option<String>,
    /// Configured name of the MCP server.
    pub server: String,
    /// Machine that the MCP server belongs to; absent or null for one that belongs to none.
    #[since("0.171")]
    pub environment_id: Option<String>,
    /// What it is applied to.
    #[since("0.169")]
    pub target: Option<McpResourceReadTarget>,
    /// Address of the resource.
    pub uri: String,
}

/// Reply to `mcpServer/resource/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct McpResourceReadResponse {
    /// Contents of the resource.
    pub contents: Vec<ResourceContent>,
    /// Call that the resource belongs to; null if there is none.
    #[since("0.169")]
    pub origin_call_id: Option<String>,
}

/// Params of `mcpServer/tool/call`: calls a tool of an MCP server, without a turn.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct McpServerToolCallParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Metadata of the MCP server, passed on as it is.
    #[serde(rename = "_meta")]
    pub meta: Option<Value>,
    /// Arguments of the call.
    pub arguments: Option<Value>,
    /// Configured name of the MCP server.
    pub server: String,
    /// Machine that the MCP server belongs to; absent or null for one that belongs to none.
    #[since("0.171")]
    pub environment_id: Option<String>,
    /// Name of the tool.
    pub tool: String,
}

/// Reply to `mcpServer/tool/call`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerToolCallResponse {
    /// Metadata of the MCP server, passed on as it is.
    #[serde(rename = "_meta")]
    pub meta: Option<Value>,
    /// Parts of the result.
    pub content: Vec<Value>,
    /// Whether the tool reports a failure; null if it does not say.
    pub is_error: Option<bool>,
    /// Result for programs; null if there is none.
    pub structured_content: Option<Value>,
}

/// Connector that a resource is read through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpResourceReadTarget {
    /// Connector that the contents come from; null if there is none.
    pub connector_id: String,
    /// Link that the connector is reached by; null if there is none.
    pub link_id: Option<String>,
}

/// A part of a resource: text, or bytes in base64.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ResourceContent {
    /// Text.
    #[serde(rename_all = "camelCase")]
    #[schemars(title = "TextResourceContent")]
    Text {
        /// Address of the resource.
        uri: String,
        /// Media type; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Text of it.
        text: String,
        /// Metadata of the MCP server, passed on as it is.
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
    },
    /// Bytes.
    #[serde(rename_all = "camelCase")]
    #[schemars(title = "BlobResourceContent")]
    Blob {
        /// Address of the resource.
        uri: String,
        /// Media type; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Bytes, in base64.
        blob: String,
        /// Metadata of the MCP server, passed on as it is.
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
    },
}
