//! Tools as functions, and calls of those functions as the calls they stand for.

use std::collections::HashMap;

use codex_protocol::LocalShellAction;
use codex_protocol::LocalShellExecAction;
use codex_protocol::LocalShellStatus;
use codex_protocol::ResponseItem;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

use crate::error::ModelError;
use crate::tool_spec::ToolSpec;

/// The name under which the local shell is offered.
pub(super) const LOCAL_SHELL: &str = "local_shell";

#[derive(Serialize)]
pub(super) struct FunctionTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    parameters: Value,
}

/// The tools that can be offered, as functions.
pub(super) fn function_tools(tools: &[ToolSpec]) -> Vec<FunctionTool<'_>> {
    let function = |spec| {
        function(spec).map(|function| FunctionTool {
            kind: "function",
            function,
        })
    };
    tools.iter().filter_map(function).collect()
}

fn function(spec: &ToolSpec) -> Option<Function<'_>> {
    match spec {
        ToolSpec::Function {
            name,
            description,
            strict,
            parameters,
            ..
        } => Some(Function {
            name,
            description: description.clone(),
            strict: strict.then_some(true),
            parameters: parameters.clone(),
        }),
        ToolSpec::Custom {
            name,
            description,
            format,
        } => Some(Function {
            name,
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
        ToolSpec::LocalShell => Some(Function {
            name: LOCAL_SHELL,
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
        | ToolSpec::ToolSearch { .. } => None,
    }
}

/// Which functions stand for something else.
#[derive(Debug, Default)]
pub(super) struct StandIns(HashMap<String, StandIn>);

#[derive(Clone, Copy, Debug)]
enum StandIn {
    Custom,
    LocalShell,
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

impl StandIns {
    pub(super) fn of(tools: &[ToolSpec]) -> Self {
        let stand_in = |spec: &ToolSpec| match spec {
            ToolSpec::Custom { name, .. } => Some((name.clone(), StandIn::Custom)),
            ToolSpec::LocalShell => Some((LOCAL_SHELL.to_owned(), StandIn::LocalShell)),
            _ => None,
        };
        Self(tools.iter().filter_map(stand_in).collect())
    }

    /// The call that a call of a function stands for.
    pub(super) fn call(
        &self,
        name: String,
        call_id: String,
        arguments: String,
    ) -> Result<ResponseItem, ModelError> {
        match self.0.get(&name) {
            Some(StandIn::Custom) => Ok(custom_call(name, call_id, arguments)),
            Some(StandIn::LocalShell) => local_shell_call(call_id, &arguments),
            None => Ok(ResponseItem::FunctionCall {
                name,
                namespace: None,
                arguments: match arguments.trim().is_empty() {
                    true => "{}".to_owned(),
                    false => arguments,
                },
                call_id,
                id: None,
            }),
        }
    }
}

fn custom_call(name: String, call_id: String, arguments: String) -> ResponseItem {
    // Some models write the text itself, without the object around it.
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
        StandIns::of(&tools).call(name.to_owned(), "c".to_owned(), arguments.to_owned())
    }

    #[test]
    fn hosted_tools_are_left_out_and_the_others_are_functions() {
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
}
