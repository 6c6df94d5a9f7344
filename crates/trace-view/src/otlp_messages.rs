//! The contents of messages and tool calls, in the JSON form of the semantic conventions for generative AI.

use std::collections::HashMap;

use codex_rollout_trace::ids::{CallId, ItemId};
use codex_rollout_trace::model::{
    ConversationItem, InferenceCall, ItemKind, Role, RolloutTrace, ToolCall,
};
use serde_json::{Value, json};

use crate::timeline::tool_name;

/// The message of a failure has this many characters.
const FAILURE_LENGTH: usize = 400;

/// Writes messages.
pub(crate) struct MessageWriter<'t> {
    trace: &'t RolloutTrace,
    /// The calls of tools by their ids.
    tools: HashMap<&'t CallId, &'t ToolCall>,
}

impl<'t> MessageWriter<'t> {
    pub(crate) fn new(trace: &'t RolloutTrace) -> Self {
        let tools = trace.tool_calls.values();
        let tools = tools.filter_map(|call| Some((call.model_visible_call_id.as_ref()?, call)));
        Self {
            trace,
            tools: tools.collect(),
        }
    }

    pub(crate) fn input(&self, call: &InferenceCall) -> String {
        Value::Array(self.messages(&call.request_item_ids)).to_string()
    }

    pub(crate) fn output(&self, call: &InferenceCall) -> String {
        let mut messages = self.messages(&call.response_item_ids);
        let calls = messages
            .iter()
            .any(|message| message["parts"][0]["type"] == "tool_call");
        let reason = match (&call.error, calls) {
            (Some(_), _) => "error",
            (None, true) => "tool_call",
            (None, false) => "stop",
        };
        for message in &mut messages {
            message["finish_reason"] = json!(reason);
        }
        Value::Array(messages).to_string()
    }

    /// The arguments and the result of a call, as far as the model saw them.
    pub(crate) fn tool(&self, call: &ToolCall) -> (Option<String>, Option<String>) {
        let text = |items: &[ItemId]| {
            let items = items
                .iter()
                .filter_map(|id| self.trace.conversation_items.get(id));
            let texts: Vec<String> = items.map(|item| item.body.shown()).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        };
        (
            text(&call.model_visible_call_item_ids),
            text(&call.model_visible_output_item_ids),
        )
    }

    /// What a failed call answered, in few words.
    pub(crate) fn failure(&self, call: &ToolCall) -> Option<String> {
        let (_, result) = self.tool(call);
        Some(result?.chars().take(FAILURE_LENGTH).collect())
    }

    /// What the model said in a response; if it only called tools, nothing.
    pub(crate) fn answer(&self, call: &InferenceCall) -> String {
        let items = call.response_item_ids.iter();
        let items = items.filter_map(|id| self.trace.conversation_items.get(id));
        let said = items.filter(|item| item.kind == ItemKind::Message);
        said.map(|item| item.body.shown())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The last message of the user, or of another agent, in a request.
    pub(crate) fn task(&self, call: &InferenceCall) -> Option<String> {
        let items = call.request_item_ids.iter().rev();
        let mut items = items.filter_map(|id| self.trace.conversation_items.get(id));
        let message = items.find(|item| {
            let is_mail = item.agent_message.is_some() && item.role != Role::Assistant;
            (item.role == Role::User || is_mail) && item.kind == ItemKind::Message
        })?;
        Some(message.body.shown())
    }

    fn messages(&self, items: &[ItemId]) -> Vec<Value> {
        let items = items
            .iter()
            .filter_map(|id| self.trace.conversation_items.get(id));
        items.map(|item| self.message(item)).collect()
    }

    fn message(&self, item: &ConversationItem) -> Value {
        let text = item.body.shown();
        let call = item.call_id.as_ref();
        let part = match item.kind {
            ItemKind::FunctionCall | ItemKind::CustomToolCall => {
                let tool = call.and_then(|id| self.tools.get(id));
                json!({
                    "type": "tool_call",
                    "id": call,
                    "name": tool.map(|tool| tool_name(&tool.kind)).unwrap_or_default(),
                    "arguments": serde_json::from_str(&text).unwrap_or(Value::String(text)),
                })
            }
            ItemKind::FunctionCallOutput | ItemKind::CustomToolCallOutput => json!({
                "type": "tool_call_response", "id": call, "response": text,
            }),
            ItemKind::Reasoning => json!({ "type": "reasoning", "content": text }),
            ItemKind::Message | ItemKind::CompactionMarker => {
                json!({ "type": "text", "content": text })
            }
        };
        let role = match item.role {
            // The conventions have no word for developers.
            Role::System | Role::Developer => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        };
        json!({ "role": role, "parts": [part] })
    }
}
