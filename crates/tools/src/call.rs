//! A call of a tool by the model.

use std::time::Duration;

use codex_protocol::{FunctionCallOutputBody, LocalShellAction, ResponseItem};
use codex_session_base::cells::ScriptValue;
use serde_json::Value;

/// A call of the model.
#[derive(Clone, Debug)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub payload: ToolPayload,
    /// Takes the result as a value, if a script made the call.
    pub script: Option<ScriptValue>,
}

/// The arguments of a call.
#[derive(Clone, Debug)]
pub enum ToolPayload {
    /// JSON, possibly invalid.
    Function(String),
    /// Free text.
    Custom(String),
    /// A command of the provider's own shell tool.
    LocalShell(LocalShellAction),
    /// The arguments of a search for tools.
    ToolSearch(Value),
}

impl ToolCall {
    /// The call in an item, if it is one.
    pub fn from_item(item: &ResponseItem) -> Option<Self> {
        Some(match item {
            ResponseItem::FunctionCall {
                name,
                namespace,
                arguments,
                call_id,
                ..
            } => Self {
                id: call_id.clone(),
                name: match namespace {
                    Some(namespace) => format!("{namespace}:{name}"),
                    None => name.clone(),
                },
                payload: ToolPayload::Function(arguments.clone()),
                script: None,
            },
            ResponseItem::CustomToolCall {
                call_id,
                name,
                input,
                ..
            } => Self {
                id: call_id.clone(),
                name: name.clone(),
                payload: ToolPayload::Custom(input.clone()),
                script: None,
            },
            ResponseItem::LocalShellCall {
                call_id,
                action,
                id,
                ..
            } => Self {
                id: call_id.clone().or_else(|| id.clone()).unwrap_or_default(),
                name: "local_shell".to_owned(),
                payload: ToolPayload::LocalShell(action.clone()),
                script: None,
            },
            ResponseItem::ToolSearchCall {
                call_id: Some(id),
                execution,
                arguments,
                ..
            } if execution == "client" => Self {
                id: id.clone(),
                name: "tool_search".to_owned(),
                payload: ToolPayload::ToolSearch(arguments.clone()),
                script: None,
            },
            _ => return None,
        })
    }

    /// Gives the call another id, and the item that it is made from.
    pub fn set_id(&mut self, item: &mut ResponseItem, id: String) {
        match item {
            ResponseItem::FunctionCall { call_id, .. }
            | ResponseItem::CustomToolCall { call_id, .. } => call_id.clone_from(&id),
            ResponseItem::LocalShellCall { call_id, .. }
            | ResponseItem::ToolSearchCall { call_id, .. } => *call_id = Some(id.clone()),
            _ => {}
        }
        self.id = id;
    }

    /// The output item of the call.
    pub fn answer(&self, output: FunctionCallOutputBody) -> ResponseItem {
        let call_id = self.id.clone();
        match &self.payload {
            ToolPayload::Function(_) | ToolPayload::LocalShell(_) => {
                ResponseItem::FunctionCallOutput { call_id, output }
            }
            ToolPayload::Custom(_) => ResponseItem::CustomToolCallOutput {
                call_id,
                name: None,
                output,
            },
            ToolPayload::ToolSearch(_) => ResponseItem::ToolSearchOutput {
                call_id: Some(call_id),
                status: "completed".to_owned(),
                execution: "client".to_owned(),
                tools: found_tools(&output),
            },
        }
    }

    /// `origin` says who stopped it.
    pub fn aborted(&self, after: Duration, origin: &str) -> String {
        let seconds = after.as_secs_f64().max(0.1);
        match self.name.as_str() {
            "shell" | "container.exec" | "local_shell" | "shell_command" | "unified_exec" => {
                format!("Wall time: {seconds:.1} seconds\naborted {origin}")
            }
            _ => format!("aborted {origin} after {seconds:.1}s"),
        }
    }
}

/// The output of a search is the list of tools as JSON. An error has found none.
fn found_tools(output: &FunctionCallOutputBody) -> Vec<Value> {
    match output {
        FunctionCallOutputBody::Text(text) => {
            serde_json::from_str(&text.as_str()).unwrap_or_default()
        }
        FunctionCallOutputBody::Content(_) => Vec::new(),
    }
}

/// The name of a tool without a namespace apart from it.
pub(super) fn full_name(name: &str) -> String {
    mcp_name(name).unwrap_or_else(|| name.to_owned())
}

/// The full name of an MCP tool that a model called with its first part as a namespace.
pub(super) fn mcp_name(name: &str) -> Option<String> {
    let (namespace, name) = name.split_once(':')?;
    if !namespace.starts_with("mcp__") {
        return None;
    }
    Some(if name.starts_with(namespace) {
        name.to_owned()
    } else {
        format!("{namespace}{name}")
    })
}
