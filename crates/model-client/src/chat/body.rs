//! The request body. Optional fields are omitted if unset, because not every server knows them.

use codex_protocol::{ReasoningEffort, Verbosity};
use serde::Serialize;
use serde_json::Value;

use super::messages::{ChatMessage, messages};
use super::tools::{FunctionTool, function_tools};
use crate::prompt::PromptItem;
use crate::request::ModelRequest;

#[derive(Serialize)]
struct ChatRequestBody<'a> {
    model: &'a str,
    messages: Vec<ChatMessage<'a>>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a ReasoningEffort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<Verbosity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'static str,
    strict: bool,
    schema: &'a Value,
}

/// The body of a streaming request.
pub(crate) fn body(request: &ModelRequest) -> Result<Vec<u8>, serde_json::Error> {
    let tools = function_tools(&request.tools);
    let has_tools = !tools.is_empty();
    let input: Vec<_> = request.input.items().map(PromptItem::read).collect();
    let body = ChatRequestBody {
        model: &request.model,
        messages: messages(&request.instructions, &input),
        stream: true,
        stream_options: StreamOptions {
            include_usage: true,
        },
        tools,
        tool_choice: has_tools.then(|| request.tool_choice()),
        parallel_tool_calls: (has_tools && request.parallel_tool_calls).then_some(true),
        reasoning_effort: request
            .reasoning
            .as_ref()
            .and_then(|reasoning| reasoning.effort.as_ref()),
        verbosity: request.verbosity,
        response_format: request.output_schema.as_ref().map(|schema| ResponseFormat {
            kind: "json_schema",
            json_schema: JsonSchema {
                name: "codex_output_schema",
                strict: true,
                schema,
            },
        }),
    };
    serde_json::to_vec(&body)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::Reasoning;
    use crate::tool_spec::ToolSpec;

    fn check(request: &ModelRequest, expected: Value) {
        let body: Value = serde_json::from_slice(&body(request).unwrap()).unwrap();
        assert_eq!(body, expected);
    }

    #[test]
    fn a_plain_request_has_no_optional_field() {
        let request = ModelRequest {
            model: "m".to_owned(),
            instructions: "do".into(),
            parallel_tool_calls: true,
            ..ModelRequest::default()
        };
        check(
            &request,
            json!({"model": "m", "messages": [{"role": "system", "content": "do"}],
                   "stream": true, "stream_options": {"include_usage": true}}),
        );
    }

    #[test]
    fn chat_body_has_all_requested_fields() {
        let request = ModelRequest {
            model: "m".to_owned(),
            tools: vec![ToolSpec::LocalShell].into(),
            parallel_tool_calls: true,
            reasoning: Some(Reasoning {
                effort: Some(ReasoningEffort::Low),
                summary: None,
            }),
            verbosity: Some(Verbosity::High),
            output_schema: Some(json!({"type": "object"})),
            ..ModelRequest::default()
        };
        let body: Value = serde_json::from_slice(&body(&request).unwrap()).unwrap();
        assert_eq!(body["tools"][0]["function"]["name"], "local_shell");
        assert_eq!(body["tool_choice"], "auto");
        assert_eq!(body["parallel_tool_calls"], true);
        assert_eq!(body["reasoning_effort"], "low");
        assert_eq!(body["verbosity"], "high");
        let schema = &body["response_format"]["json_schema"];
        assert_eq!(schema["schema"], json!({"type": "object"}));
    }
}
