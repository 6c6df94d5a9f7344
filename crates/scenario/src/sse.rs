//! The usual responses of a model, as events of the Responses API.

use serde_json::{Value, json};

/// An event as it stands in the stream.
pub fn frame(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap_or("message");
    format!("event: {kind}\ndata: {event}\n\n")
}

/// Events as they stand in the stream.
pub fn frames<'a>(events: impl IntoIterator<Item = &'a Value>) -> String {
    events.into_iter().map(frame).collect()
}

/// The response begins.
pub fn created(response_id: &str) -> Value {
    json!({"type": "response.created", "response": {"id": response_id}})
}

/// An item begins.
pub fn added(item: &Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": 0, "item": item})
}

/// An item is complete.
pub fn done(item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": 0, "item": item})
}

/// Some text of the current message.
pub fn delta(text: &str) -> Value {
    json!({"type": "response.output_text.delta", "item_id": "msg", "output_index": 0,
           "content_index": 0, "delta": text})
}

/// The response ends, having cost 10 tokens in and 5 out.
pub fn completed(response_id: &str) -> Value {
    json!({"type": "response.completed", "response": {"id": response_id, "usage": {
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    }}})
}

/// The server gives up on the response.
pub fn failed(code: &str, message: &str) -> Value {
    json!({"type": "response.failed", "response": {"error": {"code": code, "message": message}}})
}

/// A message of the model.
pub fn message(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "id": "msg",
           "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

/// A call of a function tool.
pub fn function_call(call_id: &str, name: &str, arguments: &Value) -> Value {
    json!({"type": "function_call", "id": format!("fc_{call_id}"), "call_id": call_id,
           "name": name, "arguments": arguments.to_string()})
}

/// A call of a tool that takes free text.
pub fn custom_call(call_id: &str, name: &str, input: &str) -> Value {
    json!({"type": "custom_tool_call", "id": format!("ctc_{call_id}"), "call_id": call_id,
           "name": name, "input": input})
}

/// A whole response: one message in one piece.
pub fn text(text: &str) -> Vec<Value> {
    vec![
        created("resp"),
        added(&message("")),
        delta(text),
        done(&message(text)),
        completed("resp"),
    ]
}

/// A whole response: these items and no text.
pub fn items(items: &[Value]) -> Vec<Value> {
    let mut events = vec![created("resp")];
    for item in items {
        events.push(added(item));
        events.push(done(item));
    }
    events.push(completed("resp"));
    events
}
