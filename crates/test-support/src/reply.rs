//! Typical steps of a scripted response.

use codex_model_client::{Completion, ModelEvent};
use codex_protocol::{ContentItem, ResponseItem, TokenUsage};

use crate::Step;

/// The start of a response.
pub fn created() -> Step {
    Step::Event(ModelEvent::Created)
}

/// A piece of the current message.
pub fn delta(text: &str) -> Step {
    Step::Event(ModelEvent::TextDelta(text.to_owned()))
}

/// The start of an item, without its content.
pub fn added(item: ResponseItem) -> Step {
    Step::Event(ModelEvent::ItemAdded(item))
}

/// The end of an item.
pub fn done(item: ResponseItem) -> Step {
    Step::Event(ModelEvent::ItemDone(item))
}

/// The end of a response that used 10 input and 5 output tokens.
pub fn completed(response_id: &str) -> Step {
    Step::Event(ModelEvent::Completed(Completion {
        response_id: response_id.to_owned(),
        usage: Some(TokenUsage {
            input_tokens: 10,
            output_tokens: 5,
            total_tokens: 15,
            ..TokenUsage::default()
        }),
        end_turn: None,
        cut: None,
    }))
}

/// A message of the model.
pub fn message(text: &str) -> ResponseItem {
    ResponseItem::Message {
        role: "assistant".to_owned(),
        content: vec![ContentItem::OutputText {
            text: text.to_owned(),
        }],
        end_turn: None,
        phase: None,
        id: None,
    }
}

/// A call of a function tool.
pub fn function_call(call_id: &str, name: &str, arguments: &serde_json::Value) -> ResponseItem {
    ResponseItem::FunctionCall {
        name: name.to_owned(),
        namespace: None,
        arguments: arguments.to_string(),
        call_id: call_id.to_owned(),
        id: None,
    }
}

/// A call of a tool that takes free text.
pub fn custom_call(call_id: &str, name: &str, input: &str) -> ResponseItem {
    ResponseItem::CustomToolCall {
        status: None,
        call_id: call_id.to_owned(),
        name: name.to_owned(),
        input: input.to_owned(),
        id: None,
    }
}

/// A complete response with one message.
pub fn text(text: &str) -> Vec<Step> {
    vec![
        created(),
        added(message("")),
        delta(text),
        done(message(text)),
        completed("resp"),
    ]
}

/// A complete response with these items.
pub fn items(items: impl IntoIterator<Item = ResponseItem>) -> Vec<Step> {
    let mut steps = vec![created()];
    for item in items {
        steps.push(added(item.clone()));
        steps.push(done(item));
    }
    steps.push(completed("resp"));
    steps
}
