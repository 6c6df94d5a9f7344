//! What an MCP server offers: tools and resources, as the MCP specification spells them.

use codex_app_server_protocol_macros::sparse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that an MCP server lets its clients read.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Hints for clients: audience, priority and the like.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub annotations: Value,
    /// What the resource is, for people and models.
    pub description: Option<String>,
    /// The media type of its content.
    pub mime_type: Option<String>,
    /// Its name.
    pub name: String,
    /// The size of its content in bytes.
    pub size: Option<i64>,
    /// Its name for display.
    pub title: Option<String>,
    /// The URI by which it is read.
    pub uri: String,
    /// Icons for display.
    pub icons: Option<Vec<Value>>,
    /// What the server adds for clients that know it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Value::is_null")]
    pub meta: Value,
}

/// A family of resources whose URIs follow a template.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// Hints for clients: audience, priority and the like.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub annotations: Value,
    /// The template of the URIs, by RFC 6570.
    pub uri_template: String,
    /// The name of the family.
    pub name: String,
    /// Its name for display.
    pub title: Option<String>,
    /// What the resources are, for people and models.
    pub description: Option<String>,
    /// The media type that they all have, if they do.
    pub mime_type: Option<String>,
}

/// A tool that an MCP server offers.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// The name by which it is called.
    pub name: String,
    /// Its name for display.
    pub title: Option<String>,
    /// What it does, for people and models.
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The JSON Schema of its structured result.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output_schema: Value,
    /// Hints about what calling it may do.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub annotations: Value,
    /// Icons for display.
    pub icons: Option<Vec<Value>>,
    /// What the server adds for clients that know it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Value::is_null")]
    pub meta: Value,
}
