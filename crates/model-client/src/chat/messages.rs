//! Converts the history to chat messages.
//!
//! Servers require a strict order: all calls of one answer in a single message, directly followed by their outputs. The
//! history may have other items between them, so the outputs are moved to the required place.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use codex_protocol::{
    AgentMessagePart, ContentItem, FunctionCallOutputBody, FunctionCallOutputContentItem,
    LocalShellAction, LocalShellExecAction, ResponseItem,
};
use serde::Serialize;
use serde_json::json;

use super::tools::{LOCAL_SHELL, flat_name};

/// The output for a call without one.
const NO_OUTPUT: &str = "aborted";

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct ChatMessage<'a> {
    role: ChatRole,
    /// Always present, because many servers require it; null only beside calls.
    content: Option<ChatContent<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ChatToolCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ChatRole {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum ChatContent<'a> {
    Text(String),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Debug, PartialEq, Serialize)]
struct ImageUrl<'a> {
    url: &'a str,
}

#[derive(Debug, PartialEq, Serialize)]
struct ChatToolCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Debug, PartialEq, Serialize)]
struct CalledFunction<'a> {
    name: Cow<'a, str>,
    arguments: String,
}

/// The messages of a history, preceded by the instructions.
pub(super) fn messages<'a>(instructions: &str, input: &'a [ResponseItem]) -> Vec<ChatMessage<'a>> {
    let mut builder = MessageBuilder {
        outputs: input.iter().filter_map(output).collect(),
        ..MessageBuilder::default()
    };
    if !instructions.is_empty() {
        builder.push(ChatRole::System, ChatContent::Text(instructions.to_owned()));
    }
    for item in input {
        builder.item(item);
    }
    builder.flush_calls();
    builder.messages
}

#[derive(Default)]
struct MessageBuilder<'a> {
    messages: Vec<ChatMessage<'a>>,
    /// The calls of the current answer.
    calls: Vec<ChatToolCall<'a>>,
    outputs: HashMap<&'a str, &'a FunctionCallOutputBody>,
    answered: HashSet<&'a str>,
}

impl<'a> MessageBuilder<'a> {
    fn item(&mut self, item: &'a ResponseItem) {
        if let Some(call) = tool_call(item) {
            self.calls.push(call);
            return;
        }
        match item {
            // Not sent, and may be between two calls of one answer.
            ResponseItem::Reasoning { .. } => {}
            ResponseItem::Message { role, content, .. } => {
                self.flush_calls();
                self.message(role, content);
            }
            ResponseItem::AgentMessage {
                author, content, ..
            } => {
                self.flush_calls();
                let text = agent_message_text(author, content);
                self.push(ChatRole::User, ChatContent::Text(text));
            }
            _ => self.flush_calls(),
        }
    }

    fn message(&mut self, role: &str, content: &'a [ContentItem]) {
        let role = match role {
            "assistant" => ChatRole::Assistant,
            "developer" | "system" => ChatRole::System,
            _ => ChatRole::User,
        };
        let Some(content) = message_content(role, content) else {
            return;
        };
        // Many models support only one system message, at the start.
        if let (ChatRole::System, [first], ChatContent::Text(text)) =
            (role, &mut *self.messages, &content)
            && let Some(ChatContent::Text(before)) = &mut first.content
            && first.role == ChatRole::System
        {
            before.push_str("\n\n");
            before.push_str(text);
            return;
        }
        self.push(role, content);
    }

    fn push(&mut self, role: ChatRole, content: ChatContent<'a>) {
        self.messages.push(ChatMessage {
            role,
            content: Some(content),
            tool_calls: Vec::new(),
            tool_call_id: None,
        });
    }

    /// Sends the calls of an answer, each followed by its output.
    fn flush_calls(&mut self) {
        let mut calls = std::mem::take(&mut self.calls);
        // A server accepts each id only once.
        calls.retain(|call| self.answered.insert(call.id));
        if calls.is_empty() {
            return;
        }
        let ids: Vec<&str> = calls.iter().map(|call| call.id).collect();
        match self.messages.last_mut() {
            // Text before the calls belongs to the same answer.
            Some(message)
                if message.role == ChatRole::Assistant && message.tool_calls.is_empty() =>
            {
                message.tool_calls = calls;
            }
            _ => self.messages.push(ChatMessage {
                role: ChatRole::Assistant,
                content: None,
                tool_calls: calls,
                tool_call_id: None,
            }),
        }
        let mut images = Vec::new();
        for id in ids {
            let output = self.outputs.get(id).copied();
            self.messages.push(ChatMessage {
                role: ChatRole::Tool,
                content: Some(ChatContent::Text(output_text(output, &mut images))),
                tool_calls: Vec::new(),
                tool_call_id: Some(id),
            });
        }
        // Outputs are text only, so images follow as a user message.
        if !images.is_empty() {
            self.push(ChatRole::User, ChatContent::Parts(images));
        }
    }
}

/// A message of another agent, as a text that names the sender.
fn agent_message_text(author: &str, content: &[AgentMessagePart]) -> String {
    let parts = content.iter().map(|part| match part {
        AgentMessagePart::InputText { text } => text.as_str(),
        AgentMessagePart::EncryptedContent { encrypted_content } => encrypted_content,
    });
    let text: String = parts.collect();
    format!("Message from agent {author}:\n{text}")
}

fn tool_call(item: &ResponseItem) -> Option<ChatToolCall<'_>> {
    let (id, name, arguments) = match item {
        ResponseItem::FunctionCall {
            name,
            namespace,
            arguments,
            call_id,
            ..
        } => {
            let name = match namespace {
                Some(namespace) => Cow::Owned(flat_name(namespace, name)),
                None => Cow::Borrowed(name.as_str()),
            };
            (call_id.as_str(), name, arguments.clone())
        }
        ResponseItem::CustomToolCall {
            name,
            input,
            call_id,
            ..
        } => (
            call_id.as_str(),
            Cow::Borrowed(name.as_str()),
            json!({ "input": input }).to_string(),
        ),
        ResponseItem::LocalShellCall {
            call_id,
            action,
            id,
            ..
        } => {
            let id = call_id.as_deref().or(id.as_deref())?;
            (
                id,
                Cow::Borrowed(LOCAL_SHELL),
                local_shell_arguments(action),
            )
        }
        _ => return None,
    };
    Some(ChatToolCall {
        id,
        kind: "function",
        function: CalledFunction { name, arguments },
    })
}

fn local_shell_arguments(action: &LocalShellAction) -> String {
    let LocalShellAction::Exec(LocalShellExecAction {
        command,
        timeout_ms,
        working_directory,
        ..
    }) = action;
    let mut arguments = json!({ "command": command });
    if let Some(timeout_ms) = timeout_ms {
        arguments["timeout_ms"] = json!(timeout_ms);
    }
    if let Some(working_directory) = working_directory {
        arguments["working_directory"] = json!(working_directory);
    }
    arguments.to_string()
}

fn output(item: &ResponseItem) -> Option<(&str, &FunctionCallOutputBody)> {
    match item {
        ResponseItem::FunctionCallOutput { call_id, output }
        | ResponseItem::CustomToolCallOutput {
            call_id, output, ..
        } => Some((call_id, output)),
        _ => None,
    }
}

/// The text of an output. Images are collected separately.
fn output_text<'a>(
    output: Option<&'a FunctionCallOutputBody>,
    images: &mut Vec<ContentPart<'a>>,
) -> String {
    let parts = match output {
        None => return NO_OUTPUT.to_owned(),
        Some(FunctionCallOutputBody::Text(text)) => return text.as_str().into_owned(),
        Some(FunctionCallOutputBody::Content(parts)) => parts,
    };
    let mut texts = Vec::new();
    for part in parts {
        match part {
            FunctionCallOutputContentItem::InputText { text } => texts.push(text.as_str()),
            FunctionCallOutputContentItem::InputImage { image_url, .. } => {
                images.push(image(image_url));
            }
        }
    }
    texts.join("\n")
}

/// The content of a message; none if it is empty.
fn message_content(role: ChatRole, content: &[ContentItem]) -> Option<ChatContent<'_>> {
    let has_images = content
        .iter()
        .any(|part| matches!(part, ContentItem::InputImage { .. }));
    if has_images && role == ChatRole::User {
        return Some(ChatContent::Parts(content.iter().map(part).collect()));
    }
    let texts: Vec<&str> = content.iter().filter_map(text).collect();
    (!texts.is_empty()).then(|| ChatContent::Text(texts.join("\n")))
}

/// The text in place of an image that only the Responses API can name.
const IMAGE_IS_A_FILE: &str =
    "The user attached an image, which is left out because this provider cannot fetch it.";

fn part(item: &ContentItem) -> ContentPart<'_> {
    match item {
        ContentItem::InputText { text } | ContentItem::OutputText { text } => {
            ContentPart::Text { text }
        }
        ContentItem::InputImage {
            file_id: Some(_), ..
        } => ContentPart::Text {
            text: IMAGE_IS_A_FILE,
        },
        ContentItem::InputImage { image_url, .. } => image(image_url),
    }
}

fn image(url: &str) -> ContentPart<'_> {
    ContentPart::ImageUrl {
        image_url: ImageUrl { url },
    }
}

fn text(item: &ContentItem) -> Option<&str> {
    match item {
        ContentItem::InputText { text } | ContentItem::OutputText { text } => Some(text),
        ContentItem::InputImage { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Checks the messages for these items.
    fn check(items: Value, expected: Value) {
        let items: Vec<ResponseItem> = serde_json::from_value(items).unwrap();
        let found = serde_json::to_value(messages("sys", &items)).unwrap();
        let expected = expected.as_array().unwrap();
        let system = json!({"role": "system", "content": "sys"});
        let with_system: Vec<_> = [&system].into_iter().chain(expected).cloned().collect();
        assert_eq!(found, Value::Array(with_system));
    }

    fn message_item(role: &str, kind: &str, text: &str) -> Value {
        json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
    }

    fn call(id: &str) -> Value {
        json!({"type": "function_call", "name": "f", "arguments": "{}", "call_id": id})
    }

    fn output(id: &str, text: &str) -> Value {
        json!({"type": "function_call_output", "call_id": id, "output": text})
    }

    fn tool_call(id: &str) -> Value {
        json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})
    }

    fn tool(id: &str, text: &str) -> Value {
        json!({"role": "tool", "content": text, "tool_call_id": id})
    }

    #[test]
    fn messages_keep_their_roles() {
        check(
            json!([
                message_item("user", "input_text", "a"),
                message_item("assistant", "output_text", "b"),
                message_item("developer", "input_text", "c"),
                {"type": "message", "role": "user", "content": []},
            ]),
            json!([
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": "b"},
                {"role": "system", "content": "c"},
            ]),
        );
    }

    #[test]
    fn leading_developer_messages_join_the_instructions() {
        let items: Vec<ResponseItem> = serde_json::from_value(json!([
            message_item("developer", "input_text", "a"),
            message_item("developer", "input_text", "b"),
            message_item("user", "input_text", "c"),
        ]))
        .unwrap();
        let found = serde_json::to_value(messages("sys", &items)).unwrap();
        assert_eq!(
            found[0],
            json!({"role": "system", "content": "sys\n\na\n\nb"})
        );
        assert_eq!(found[1]["role"], "user");
    }

    #[test]
    fn images_make_a_message_of_parts() {
        check(
            json!([{"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": "data:x"},
            ]}]),
            json!([{"role": "user", "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "data:x"}},
            ]}]),
        );
    }

    #[test]
    fn parallel_calls_precede_their_outputs() {
        check(
            json!([
                message_item("assistant", "output_text", "ok"),
                call("1"),
                {"type": "reasoning", "summary": []},
                call("2"),
                message_item("user", "input_text", "wait"),
                output("2", "two"),
                output("1", "one"),
                call("3"),
                output("3", "three"),
                call("4"),
            ]),
            json!([
                {"role": "assistant", "content": "ok",
                 "tool_calls": [tool_call("1"), tool_call("2")]},
                tool("1", "one"),
                tool("2", "two"),
                {"role": "user", "content": "wait"},
                {"role": "assistant", "content": null, "tool_calls": [tool_call("3")]},
                tool("3", "three"),
                {"role": "assistant", "content": null, "tool_calls": [tool_call("4")]},
                tool("4", "aborted"),
            ]),
        );
    }

    #[test]
    fn other_calls_are_functions_and_images_of_outputs_follow() {
        check(
            json!([
                {"type": "custom_tool_call", "name": "patch", "input": "x", "call_id": "1"},
                {"type": "local_shell_call", "call_id": "2", "status": "completed",
                 "action": {"type": "exec", "command": ["ls"], "timeout_ms": 5}},
                {"type": "custom_tool_call_output", "call_id": "1", "output": [
                    {"type": "input_text", "text": "a"},
                    {"type": "input_image", "image_url": "data:x"},
                    {"type": "input_text", "text": "b"},
                ]},
                output("2", "two"),
                {"type": "web_search_call"},
                {"type": "compaction", "encrypted_content": "x"},
                {"type": "hologram"},
            ]),
            json!([
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "1", "type": "function",
                     "function": {"name": "patch", "arguments": "{\"input\":\"x\"}"}},
                    {"id": "2", "type": "function", "function": {"name": "local_shell",
                     "arguments": "{\"command\":[\"ls\"],\"timeout_ms\":5}"}},
                ]},
                tool("1", "a\nb"),
                tool("2", "two"),
                {"role": "user", "content": [
                    {"type": "image_url", "image_url": {"url": "data:x"}},
                ]},
            ]),
        );
    }
}
