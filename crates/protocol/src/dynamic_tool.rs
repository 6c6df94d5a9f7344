//! Tools that the client carries out, as clients register them and as files store them.

use codex_app_server_protocol_macros::Experimental;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::mark_members;

/// A tool that the client carries out, or several of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema, Experimental)]
#[serde(untagged)]
#[schemars(transform = mark_members::<Self>)]
pub enum DynamicToolSpec {
    /// Tools that the model calls by the name of their namespace and their own.
    #[since("0.169")]
    Namespace(DynamicToolNamespace),
    /// A tool of its own.
    Function(DynamicToolFunction),
}

/// Tools with a name in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolNamespace {
    /// Tells it from a tool.
    #[serde(rename = "type")]
    pub kind: DynamicNamespaceKind,
    /// The name, unique among namespaces.
    pub name: String,
    /// What the tools are for, for the model.
    pub description: String,
    /// The tools.
    pub tools: Vec<DynamicToolFunction>,
}

/// A tool that the client carries out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct DynamicToolFunction {
    /// Tells it from a namespace; older clients leave it out.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub kind: Option<DynamicFunctionKind>,
    /// Name the model calls it by: unique in its namespace, no blanks around it, not `mcp`, not beginning
    /// `mcp__`.
    pub name: String,
    /// The namespace of a tool that is not listed in one, as clients before the form with tags name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    #[until("0.140")]
    pub namespace: Option<String>,
    /// What the tool does, for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// Whether the tool stays callable without being listed to the model; false by default.
    #[serde(default)]
    pub defer_loading: bool,
}

/// The tag of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DynamicNamespaceKind {
    /// The only one.
    Namespace,
}

/// The tag of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DynamicFunctionKind {
    /// The only one.
    Function,
}

/// The name of the tool of an editor that runs a command in one of its terminals. Its argument `command` is a command line.
pub const EDITOR_TERMINAL: &str = "editor_terminal";

impl DynamicToolSpec {
    /// The tools, with the namespace that each is in.
    pub fn functions(&self) -> impl Iterator<Item = (Option<&str>, &DynamicToolFunction)> {
        let (namespace, tools) = match self {
            Self::Namespace(namespace) => (Some(namespace.name.as_str()), &*namespace.tools),
            Self::Function(function) => (
                function.namespace.as_deref(),
                std::slice::from_ref(function),
            ),
        };
        tools.iter().map(move |tool| (namespace, tool))
    }

    /// Whether it has what the first form does not: a tag or a namespace.
    #[must_use]
    pub fn has_tag_or_namespace(&self) -> bool {
        let is_named = matches!(self, Self::Function(function) if function.namespace.is_some());
        is_named || self.is_tagged()
    }

    /// Whether it is written with a tag.
    pub fn is_tagged(&self) -> bool {
        match self {
            Self::Namespace(_) => true,
            Self::Function(function) => function.kind.is_some(),
        }
    }
}

impl<'de> Deserialize<'de> for DynamicToolSpec {
    /// The tag decides, so that an error is about the form that was meant.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let is_namespace = value.get("type").is_some_and(|kind| kind == "namespace");
        let read = if is_namespace {
            serde_json::from_value(value).map(Self::Namespace)
        } else {
            serde_json::from_value(value).map(Self::Function)
        };
        read.map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_form_is_written_as_it_was_given() {
        let schema = json!({ "type": "object" });
        let plain = json!({ "name": "a", "description": "d", "inputSchema": schema,
                            "deferLoading": false });
        let tagged = json!({ "type": "function", "name": "a", "description": "d",
                             "inputSchema": schema, "deferLoading": true });
        let namespace = json!({ "type": "namespace", "name": "n", "description": "d",
                                "tools": [tagged] });
        for given in [plain, tagged, namespace] {
            let read: DynamicToolSpec = serde_json::from_value(given.clone()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), given);
        }
        for (given, told) in [
            (
                json!({ "type": "namespace", "name": "n" }),
                "missing field `description`",
            ),
            (json!({ "type": "other" }), "unknown variant `other`"),
            (
                json!({ "name": "a", "description": "d" }),
                "missing field `inputSchema`",
            ),
        ] {
            let error = serde_json::from_value::<DynamicToolSpec>(given).unwrap_err();
            assert!(error.to_string().contains(told), "{error}");
        }
    }
}
