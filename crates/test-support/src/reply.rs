//! The usual responses of a model, as steps of a script.

use codex_model_client::{Completion, ModelEvent};
use codex_protocol::{ContentItem, ResponseItem, TokenUsage};

use crate::Step;

/// The response begins.
pub fn created() -> Step {
    Step::Event(ModelEvent::Created)
}

/// Some text of the current message.
pub fn delta(text: &str) -> Step {
    Step::Event(ModelEvent::TextDelta(text.to_owned()))
}

/// An item begins, without its content.
pub fn added(item: ResponseItem) -> Step {
    Step::Event(ModelEvent::ItemAdded(item))
}

/// An item is complete.
pub fn done(item: ResponseItem) -> Step {
    Step::Event(ModelEvent::ItemDone(item))
}

/// The response ends, having cost 10 tokens in and 5 out.
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

/// A whole response: one message in one piece.
pub fn text(text: &str) -> Vec<Step> {
    vec![
        created(),
        added(message("")),
        delta(text),
        done(message(text)),
        completed("resp"),
    ]
}

/// A whole response: these items and no text.
pub fn items(items: impl IntoIterator<Item = ResponseItem>) -> Vec<Step> {
    let mut steps = vec![created()];
    for item in items {
        steps.push(added(item.clone()));
        steps.push(done(item));
    }
    steps.push(completed("resp"));
    steps
}
