//! Events of the Responses API.

use codex_http::SseParser;
use serde_json::{Value, json};

/// An event in the format of server-sent events.
pub fn frame(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap_or("message");
    format!("event: {kind}\ndata: {event}\n\n")
}

/// Several events in the format of server-sent events.
pub fn frames<'a>(events: impl IntoIterator<Item = &'a Value>) -> String {
    events.into_iter().map(frame).collect()
}

/// The messages on a websocket for a part of a body: the data of its events, or what it is if it has none.
pub(crate) fn messages(bytes: &[u8]) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut parser = SseParser::default();
    let mut rest = bytes;
    let mut messages = Vec::new();
    while let Some(Ok(data)) = parser.next(&mut rest) {
        messages.push(text(data));
    }
    if messages.is_empty() && !bytes.is_empty() {
        messages.push(text(bytes));
    }
    messages
}

/// The start of a response.
pub fn created(response_id: &str) -> Value {
    json!({"type": "response.created", "response": {"id": response_id}})
}

/// The start of an item.
pub fn added(item: &Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": 0, "item": item})
}

/// The end of an item.
pub fn done(item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": 0, "item": item})
}

/// A piece of the current message.
pub fn delta(text: &str) -> Value {
    json!({"type": "response.output_text.delta", "item_id": "msg", "output_index": 0,
           "content_index": 0, "delta": text})
}

/// The end of a response that used 10 input and 5 output tokens.
pub fn completed(response_id: &str) -> Value {
    json!({"type": "response.completed", "response": {"id": response_id, "usage": {
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    }}})
}

/// A response that ended with an error.
pub fn failed(code: &str, message: &str) -> Value {
    json!({"type": "response.failed", "response": {"error": {"code": code, "message": message}}})
}

/// An item: a message of the model.
pub fn message(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "id": "msg",
           "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

/// An item: a call of a function tool.
pub fn function_call(call_id: &str, name: &str, arguments: &Value) -> Value {
    json!({"type": "function_call", "id": format!("fc_{call_id}"), "call_id": call_id,
           "name": name, "arguments": arguments.to_string()})
}

/// An item: a call of a tool that takes free text.
pub fn custom_call(call_id: &str, name: &str, input: &str) -> Value {
    json!({"type": "custom_tool_call", "id": format!("ctc_{call_id}"), "call_id": call_id,
           "name": name, "input": input})
}

/// A complete response with one message.
pub fn text(text: &str) -> Vec<Value> {
    vec![
        created("resp"),
        added(&message("")),
        delta(text),
        done(&message(text)),
        completed("resp"),
    ]
}

/// A complete response with these items.
pub fn items(items: &[Value]) -> Vec<Value> {
    let mut events = vec![created("resp")];
    for item in items {
        events.push(added(item));
        events.push(done(item));
    }
    events.push(completed("resp"));
    events
}
