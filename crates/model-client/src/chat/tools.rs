//! Offers tools as functions, and translates calls of the functions back.

use std::borrow::Cow;
use std::collections::HashMap;

use codex_protocol::{LocalShellAction, LocalShellExecAction, LocalShellStatus, ResponseItem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::ModelError;
use crate::tool_spec::ToolSpec;

/// The name of the local shell as a function.
pub(super) const LOCAL_SHELL: &str = "local_shell";

#[derive(Serialize)]
pub(super) struct FunctionTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: FunctionDefinition<'a>,
}

#[derive(Serialize)]
struct FunctionDefinition<'a> {
    name: Cow<'a, str>,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    parameters: Value,
}

/// The tools as functions, without those that cannot be offered.
pub(super) fn function_tools(tools: &[ToolSpec]) -> Vec<FunctionTool<'_>> {
    let functions = tools.iter().flat_map(|spec| match spec {
        ToolSpec::Namespace { name, tools, .. } => {
            let within = tools.iter().filter_map(function);
            let named = within.map(|function| FunctionDefinition {
                name: Cow::Owned(flat_name(name, &function.name)),
                ..function
            });
            named.collect::<Vec<_>>()
        }
        spec => Vec::from_iter(function(spec)),
    });
    functions
        .map(|function| FunctionTool {
            kind: "function",
            function,
        })
        .collect()
}

/// The name of a namespaced function, for servers without namespaces.
pub(super) fn flat_name(namespace: &str, name: &str) -> String {
    format!("{namespace}__{name}")
}

fn function(spec: &ToolSpec) -> Option<FunctionDefinition<'_>> {
    match spec {
        ToolSpec::Function {
            name,
            description,
            strict,
            parameters,
            ..
        } => Some(FunctionDefinition {
            name: Cow::Borrowed(name),
            description: description.clone(),
            strict: strict.then_some(true),
            parameters: parameters.clone(),
        }),
        ToolSpec::Custom {
            name,
            description,
            format,
        } => Some(FunctionDefinition {
            name: Cow::Borrowed(name),
            description: format!(
                "{description}\n\nThe input is plain text in this {} ({}):\n{}",
                format.kind, format.syntax, format.definition
            ),
            strict: None,
            parameters: json!({
                "type": "object",
                "properties": {"input": {"type": "string", "description": "The text."}},
                "required": ["input"],
                "additionalProperties": false,
            }),
        }),
        ToolSpec::LocalShell => Some(FunctionDefinition {
            name: Cow::Borrowed(LOCAL_SHELL),
            description: "Runs a program and returns its output.".to_owned(),
            strict: None,
            parameters: json!({
                "type": "object",
                "properties": {
                    "command": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "The program and its arguments.",
                    },
                    "working_directory": {"type": "string", "description": "Where to run it."},
                    "timeout_ms": {"type": "number", "description": "When to give up on it."},
                },
                "required": ["command"],
                "additionalProperties": false,
            }),
        }),
        ToolSpec::WebSearch { .. }
        | ToolSpec::ImageGeneration { .. }
        | ToolSpec::ToolSearch { .. }
        | ToolSpec::Namespace { .. } => None,
    }
}

/// Functions that represent another kind of tool.
#[derive(Debug, Default)]
pub(super) struct FunctionMappings(HashMap<String, FunctionMapping>);

#[derive(Clone, Debug)]
enum FunctionMapping {
    Custom,
    LocalShell,
    Namespaced { namespace: String, name: String },
}

#[derive(Deserialize)]
struct CustomArguments {
    input: String,
}

#[derive(Deserialize)]
struct LocalShellArguments {
    command: Vec<String>,
    working_directory: Option<String>,
    timeout_ms: Option<u64>,
}

impl FunctionMappings {
    pub(super) fn from_tools(tools: &[ToolSpec]) -> Self {
        let mut all = HashMap::new();
        for spec in tools {
            match spec {
                ToolSpec::Custom { name, .. } => {
                    all.insert(name.clone(), FunctionMapping::Custom);
                }
                ToolSpec::LocalShell => {
                    all.insert(LOCAL_SHELL.to_owned(), FunctionMapping::LocalShell);
                }
                ToolSpec::Namespace { name, tools, .. } => {
                    let functions = tools.iter().filter_map(function);
                    all.extend(functions.map(|function| {
                        let stand_in = FunctionMapping::Namespaced {
                            namespace: name.clone(),
                            name: function.name.to_string(),
                        };
                        (flat_name(name, &function.name), stand_in)
                    }));
                }
                _ => {}
            }
        }
        Self(all)
    }

    /// The call that a function call represents.
    pub(super) fn call(
        &self,
        name: String,
        call_id: String,
        arguments: String,
    ) -> Result<ResponseItem, ModelError> {
        let (namespace, name) = match self.0.get(&name) {
            Some(FunctionMapping::Custom) => return Ok(custom_call(name, call_id, arguments)),
            Some(FunctionMapping::LocalShell) => return local_shell_call(call_id, &arguments),
            Some(FunctionMapping::Namespaced { namespace, name }) => {
                (Some(namespace.clone()), name.clone())
            }
            None => (None, name),
        };
        Ok(ResponseItem::FunctionCall {
            name,
            namespace,
            arguments: if arguments.trim().is_empty() {
                "{}".to_owned()
            } else {
                arguments
            },
            call_id,
            id: None,
        })
    }
}

fn custom_call(name: String, call_id: String, arguments: String) -> ResponseItem {
    // Some models write the plain text without the JSON object.
    let input = match serde_json::from_str::<CustomArguments>(&arguments) {
        Ok(arguments) => arguments.input,
        Err(_) => arguments,
    };
    ResponseItem::CustomToolCall {
        status: None,
        call_id,
        name,
        input,
        id: None,
    }
}

fn local_shell_call(call_id: String, arguments: &str) -> Result<ResponseItem, ModelError> {
    let arguments: LocalShellArguments = serde_json::from_str(arguments).map_err(|error| {
        ModelError::disconnected(format!(
            "the model's {LOCAL_SHELL} call cannot be read: {error}"
        ))
    })?;
    Ok(ResponseItem::LocalShellCall {
        call_id: Some(call_id),
        status: LocalShellStatus::Completed,
        action: LocalShellAction::Exec(LocalShellExecAction {
            command: arguments.command,
            env: None,
            timeout_ms: arguments.timeout_ms,
            user: None,
            working_directory: arguments.working_directory,
        }),
        id: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool_spec::CustomToolFormat;

    fn custom() -> ToolSpec {
        ToolSpec::Custom {
            name: "patch".to_owned(),
            description: "Edits.".to_owned(),
            format: CustomToolFormat {
                kind: "grammar".to_owned(),
                syntax: "lark".to_owned(),
                definition: "start: x".to_owned(),
            },
        }
    }

    fn call(name: &str, arguments: &str) -> Result<ResponseItem, ModelError> {
        let tools = [custom(), ToolSpec::LocalShell];
        FunctionMappings::from_tools(&tools).call(
            name.to_owned(),
            "c".to_owned(),
            arguments.to_owned(),
        )
    }

    #[test]
    fn hosted_tools_are_omitted() {
        let image = ToolSpec::ImageGeneration {
            output_format: "png".to_owned(),
        };
        let tools = [custom(), image, ToolSpec::LocalShell];
        let functions = serde_json::to_value(function_tools(&tools)).unwrap();
        let names: Vec<_> = functions.as_array().unwrap().iter().collect();
        assert_eq!(names.len(), 2);
        assert_eq!(names[0]["type"], "function");
        assert_eq!(
            names[0]["function"]["parameters"]["required"],
            json!(["input"])
        );
        let description = names[0]["function"]["description"].as_str().unwrap();
        assert!(description.contains("start: x"));
    }

    #[test]
    fn calls_are_translated_back() {
        let custom = |input: &str| ResponseItem::CustomToolCall {
            status: None,
            call_id: "c".to_owned(),
            name: "patch".to_owned(),
            input: input.to_owned(),
            id: None,
        };
        assert_eq!(call("patch", r#"{"input":"a\nb"}"#), Ok(custom("a\nb")));
        assert_eq!(call("patch", "*** Begin"), Ok(custom("*** Begin")));
        let Ok(ResponseItem::FunctionCall { arguments, .. }) = call("other", "") else {
            panic!("not a function call");
        };
        assert_eq!(arguments, "{}");
        let shell = call(LOCAL_SHELL, r#"{"command":["ls"],"timeout_ms":5}"#);
        assert!(matches!(shell, Ok(ResponseItem::LocalShellCall { .. })));
        assert!(call(LOCAL_SHELL, "{}").unwrap_err().is_retryable());
    }

    #[test]
    fn namespaced_function_maps_between_both_names() {
        let tools = [ToolSpec::Namespace {
            name: "crm".to_owned(),
            description: "d".to_owned(),
            tools: vec![ToolSpec::Function {
                name: "lookup".to_owned(),
                description: "x".to_owned(),
                strict: false,
                defer_loading: None,
                parameters: json!({}),
            }],
        }];
        let offered = serde_json::to_value(function_tools(&tools)).unwrap();
        assert_eq!(offered[0]["function"]["name"], "crm__lookup");
        let call = FunctionMappings::from_tools(&tools).call(
            "crm__lookup".to_owned(),
            "c".to_owned(),
            String::new(),
        );
        let ResponseItem::FunctionCall {
            name, namespace, ..
        } = call.unwrap()
        else {
            panic!("no function call");
        };
        assert_eq!(
            (name.as_str(), namespace.as_deref()),
            ("lookup", Some("crm"))
        );
    }
}
