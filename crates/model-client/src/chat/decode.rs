//! Decodes the chunks of a chat completion into events.
//!
//! The protocol has no items: text, reasoning and calls arrive as fragments of one answer. They are assembled here into
//! the events of the Responses API: an item begins, grows and is complete.

use codex_protocol::{AnswerCut, ContentItem, ReasoningItemContent, ResponseItem, TokenUsage};
use serde::Deserialize;

use super::tools::FunctionMappings;
use crate::error::ModelError;
use crate::event::{Completion, ModelEvent};
use crate::responses::ResponseFailure;
use crate::stream::{DecodeEvents, DecodeFlow, Events};
use crate::tool_spec::ToolSpec;

const END_MARK: &str = "[DONE]";
/// Limit on the calls in one answer.
const MAX_CALLS: usize = 128;
/// Limit on the data kept until the answer is complete.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

#[derive(Deserialize)]
struct ChatChunk {
    id: Option<String>,
    #[serde(default)]
    choices: Vec<ChatChoice>,
    usage: Option<ChatUsage>,
    error: Option<ResponseFailure>,
}

#[derive(Deserialize)]
struct ChatChoice {
    #[serde(default)]
    delta: Option<ChatDelta>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct ChatDelta {
    content: Option<String>,
    /// Servers use different names for this field.
    #[serde(alias = "reasoning")]
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<usize>,
    id: Option<String>,
    #[serde(default)]
    function: FunctionDelta,
}

#[derive(Default, Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct ChatUsage {
    #[serde(default)]
    prompt_tokens: i64,
    #[serde(default)]
    completion_tokens: i64,
    total_tokens: Option<i64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<i64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<i64>,
}

/// A call that is still being received.
#[derive(Debug, Default)]
struct PartialCall {
    index: Option<usize>,
    id: Option<String>,
    name: String,
    arguments: String,
}

/// Decodes one answer.
#[derive(Debug)]
pub(crate) struct ChatDecoder {
    mappings: FunctionMappings,
    response_id: Option<String>,
    reasoning: String,
    text: String,
    calls: Vec<PartialCall>,
    kept_bytes: usize,
    finish_reason: Option<String>,
    usage: Option<TokenUsage>,
}

impl ChatDecoder {
    /// A decoder for the answer to a request with these tools.
    pub(crate) fn new(tools: &[ToolSpec]) -> Self {
        Self {
            mappings: FunctionMappings::from_tools(tools),
            response_id: None,
            reasoning: String::new(),
            text: String::new(),
            calls: Vec::new(),
            kept_bytes: 0,
            finish_reason: None,
            usage: None,
        }
    }

    /// The first chunk begins the response.
    fn begin(&mut self, id: Option<String>, events: &mut Events) {
        if self.response_id.is_none() {
            let made_up = || format!("chatcmpl-{:016x}", fastrand::u64(..));
            let id = id.filter(|id| !id.is_empty()).unwrap_or_else(made_up);
            self.response_id = Some(id);
            events.push_back(ModelEvent::Created);
        }
    }

    fn delta(&mut self, delta: ChatDelta, events: &mut Events) -> Result<(), ModelError> {
        if let Some(reasoning) = non_empty(delta.reasoning_content) {
            self.grow(reasoning.len())?;
            self.reasoning_delta(reasoning, events);
        }
        if let Some(text) = non_empty(delta.content) {
            self.grow(text.len())?;
            self.text_delta(text, events);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.call_delta(call)?;
        }
        Ok(())
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.kept_bytes += bytes;
        if self.kept_bytes > MAX_ANSWER_BYTES {
            let text = format!("the answer is larger than {MAX_ANSWER_BYTES} bytes");
            return Err(ModelError::disconnected(text));
        }
        Ok(())
    }

    fn reasoning_delta(&mut self, delta: String, events: &mut Events) {
        if self.reasoning.is_empty() {
            events.push_back(ModelEvent::ItemAdded(reasoning_item(None)));
        }
        self.reasoning.push_str(&delta);
        events.push_back(ModelEvent::ReasoningDelta {
            delta,
            content_index: 0,
        });
    }

    fn text_delta(&mut self, text: String, events: &mut Events) {
        if self.text.is_empty() {
            self.end_reasoning(events);
            events.push_back(ModelEvent::ItemAdded(message_item(None)));
        }
        self.text.push_str(&text);
        events.push_back(ModelEvent::TextDelta(text));
    }

    /// Adds a fragment to its call, identified by index. A server that omits the index starts a call with a new id, or
    /// sends each call in one piece.
    fn call_delta(&mut self, delta: CallDelta) -> Result<(), ModelError> {
        let id = non_empty(delta.id);
        let name = non_empty(delta.function.name).unwrap_or_default();
        let arguments = delta.function.arguments.unwrap_or_default();
        self.grow(name.len() + arguments.len())?;
        let same = |call: &&mut PartialCall| match (&id, &call.id, delta.index) {
            (Some(id), Some(known), _) if id != known => false,
            (_, _, Some(index)) => call.index == Some(index),
            (Some(id), known, None) => known.as_ref() == Some(id),
            (None, _, None) => name.is_empty(),
        };
        if let Some(call) = self.calls.iter_mut().rev().find(same) {
            if call.name.is_empty() {
                call.name = name;
            }
            call.arguments.push_str(&arguments);
            return Ok(());
        }
        if self.calls.len() == MAX_CALLS {
            let text = format!("the answer has more than {MAX_CALLS} calls");
            return Err(ModelError::disconnected(text));
        }
        self.calls.push(PartialCall {
            index: delta.index,
            id,
            name,
            arguments,
        });
        Ok(())
    }

    fn end_reasoning(&mut self, events: &mut Events) {
        let text = std::mem::take(&mut self.reasoning);
        if !text.is_empty() {
            events.push_back(ModelEvent::ItemDone(reasoning_item(Some(text))));
        }
    }

    /// Ends the response and completes unfinished items.
    fn complete(&mut self, events: &mut Events) -> Result<(), ModelError> {
        let cut = match self.finish_reason.as_deref() {
            Some(reason @ ("length" | "max_tokens" | "model_length" | "content_filter")) => {
                Some(AnswerCut::from_server(reason))
            }
            _ => None,
        };
        if cut.is_some() {
            // The last call is cut as well, and those before it may be meant to be followed by it.
            self.calls.clear();
        }
        self.begin(None, events);
        let response_id = self.response_id.clone().unwrap_or_default();
        self.end_reasoning(events);
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            events.push_back(ModelEvent::ItemDone(message_item(Some(text))));
        }
        for (index, call) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            if call.name.is_empty() {
                return Err(ModelError::disconnected("the model's call names no tool"));
            }
            let id = call
                .id
                .unwrap_or_else(|| format!("{response_id}-call-{index}"));
            let item = self.mappings.call(call.name, id, call.arguments)?;
            events.push_back(ModelEvent::ItemAdded(item.clone()));
            events.push_back(ModelEvent::ItemDone(item));
        }
        events.push_back(ModelEvent::Completed(Completion {
            response_id,
            usage: self.usage.take(),
            end_turn: None,
            cut,
        }));
        Ok(())
    }
}

impl DecodeEvents for ChatDecoder {
    fn event(&mut self, data: &str, events: &mut Events) -> Result<DecodeFlow, ModelError> {
        if data.trim() == END_MARK {
            self.complete(events)?;
            return Ok(DecodeFlow::Done);
        }
        let Ok(chunk) = serde_json::from_str::<ChatChunk>(data) else {
            tracing::debug!("skipping a chunk that cannot be read");
            return Ok(DecodeFlow::Continue);
        };
        if let Some(error) = chunk.error {
            return Err(error.into());
        }
        self.begin(chunk.id, events);
        if let Some(choice) = chunk.choices.into_iter().next() {
            self.delta(choice.delta.unwrap_or_default(), events)?;
            self.finish_reason = choice.finish_reason.or(self.finish_reason.take());
        }
        self.usage = chunk.usage.map(token_usage).or(self.usage);
        // The usage comes last; waiting for the end mark would only take time.
        if self.finish_reason.is_some() && self.usage.is_some() {
            self.complete(events)?;
            return Ok(DecodeFlow::Done);
        }
        Ok(DecodeFlow::Continue)
    }

    fn end(&mut self, events: &mut Events) -> Result<(), ModelError> {
        match self.finish_reason {
            Some(_) => self.complete(events),
            None => Err(ModelError::disconnected(
                "stream closed before the answer was complete",
            )),
        }
    }
}

fn non_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn message_item(text: Option<String>) -> ResponseItem {
    ResponseItem::Message {
        role: "assistant".to_owned(),
        content: text
            .map(|text| ContentItem::OutputText { text })
            .into_iter()
            .collect(),
        end_turn: None,
        phase: None,
        id: None,
    }
}

fn reasoning_item(text: Option<String>) -> ResponseItem {
    ResponseItem::Reasoning {
        summary: Vec::new(),
        content: text.map(|text| vec![ReasoningItemContent::ReasoningText { text }]),
        encrypted_content: None,
        id: None,
    }
}

fn token_usage(usage: ChatUsage) -> TokenUsage {
    let cached = usage.prompt_tokens_details.and_then(|it| it.cached_tokens);
    let reasoning = usage
        .completion_tokens_details
        .and_then(|it| it.reasoning_tokens);
    let sum = usage.prompt_tokens.saturating_add(usage.completion_tokens);
    TokenUsage {
        input_tokens: usage.prompt_tokens,
        cached_input_tokens: cached.unwrap_or(0),
        cache_write_input_tokens: 0,
        output_tokens: usage.completion_tokens,
        reasoning_output_tokens: reasoning.unwrap_or(0),
        total_tokens: usage.total_tokens.unwrap_or(sum),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    type Decoded = (Vec<ModelEvent>, Option<ModelError>);

    fn decode(chunks: &[Value]) -> Decoded {
        let mut decoder = ChatDecoder::new(&[]);
        let mut events = Events::new();
        for chunk in chunks {
            let data = match chunk {
                Value::String(text) => text.clone(),
                chunk => chunk.to_string(),
            };
            match decoder.event(&data, &mut events) {
                Ok(DecodeFlow::Continue) => {}
                Ok(DecodeFlow::Done) => return (events.into(), None),
                Err(error) => return (events.into(), Some(error)),
            }
        }
        let error = decoder.end(&mut events).err();
        (events.into(), error)
    }

    fn delta(delta: Value) -> Value {
        json!({"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    }

    fn finish(reason: &str) -> Value {
        json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    }

    fn call(index: Option<usize>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
        delta(
            json!({"tool_calls": [{"index": index, "id": id, "type": "function",
              "function": {"name": name, "arguments": arguments}}]}),
        )
    }

    fn completed(usage: Option<TokenUsage>) -> ModelEvent {
        ModelEvent::Completed(Completion {
            response_id: "c1".to_owned(),
            usage,
            end_turn: None,
            cut: None,
        })
    }

    #[test]
    fn text_and_reasoning_become_items() {
        let (events, error) = decode(&[
            delta(json!({"role": "assistant", "content": ""})),
            delta(json!({"reasoning_content": "hm"})),
            delta(json!({"reasoning": "m"})),
            delta(json!({"content": "He"})),
            delta(json!({"content": "llo"})),
            finish("stop"),
            json!("[DONE]"),
        ]);
        let thought = |delta: &str| ModelEvent::ReasoningDelta {
            delta: delta.to_owned(),
            content_index: 0,
        };
        let expected = [
            ModelEvent::Created,
            ModelEvent::ItemAdded(reasoning_item(None)),
            thought("hm"),
            thought("m"),
            ModelEvent::ItemDone(reasoning_item(Some("hmm".to_owned()))),
            ModelEvent::ItemAdded(message_item(None)),
            ModelEvent::TextDelta("He".to_owned()),
            ModelEvent::TextDelta("llo".to_owned()),
            ModelEvent::ItemDone(message_item(Some("Hello".to_owned()))),
            completed(None),
        ];
        assert_eq!((events, error), (expected.to_vec(), None));
    }

    #[test]
    fn usage_ends_the_answer_without_waiting_for_the_mark() {
        let usage = json!({"id": "c1", "choices": [], "usage": {"prompt_tokens": 3,
            "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 1},
            "completion_tokens_details": {"reasoning_tokens": 2}}});
        let (events, error) = decode(&[delta(json!({"content": "x"})), finish("stop"), usage]);
        let expected = TokenUsage {
            input_tokens: 3,
            cached_input_tokens: 1,
            cache_write_input_tokens: 0,
            output_tokens: 4,
            reasoning_output_tokens: 2,
            total_tokens: 7,
        };
        assert_eq!(error, None);
        assert_eq!(events.last(), Some(&completed(Some(expected))));
    }

    /// The calls in these chunks, as `id name arguments`.
    fn check_calls(chunks: &[Value], expected: &[&str]) {
        let mut chunks = chunks.to_vec();
        chunks.push(finish("tool_calls"));
        let (events, error) = decode(&chunks);
        assert_eq!(error, None);
        let mut found = Vec::new();
        for event in events {
            if let ModelEvent::ItemDone(ResponseItem::FunctionCall {
                name,
                arguments,
                call_id,
                ..
            }) = event
            {
                found.push(format!("{call_id} {name} {arguments}"));
            }
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn calls_are_put_together_however_servers_cut_them() {
        check_calls(
            &[
                call(Some(0), Some("a"), Some("f"), ""),
                call(Some(0), None, None, "{\"x\""),
                call(Some(1), Some("b"), Some("g"), ""),
                call(Some(0), None, None, ":1}"),
                call(Some(1), None, None, "{}"),
            ],
            &["a f {\"x\":1}", "b g {}"],
        );
        check_calls(
            &[
                call(Some(0), Some("a"), Some("f"), "{}"),
                call(Some(0), Some("b"), Some("f"), "{}"),
            ],
            &["a f {}", "b f {}"],
        );
        check_calls(
            &[
                call(None, Some("a"), Some("f"), "{"),
                call(None, None, None, "}"),
                call(None, None, Some("g"), "{}"),
            ],
            &["a f {}", "c1-call-1 g {}"],
        );
        check_calls(
            &[
                call(Some(0), Some("a"), Some("f"), "{"),
                call(Some(0), Some("a"), Some("f"), "}"),
            ],
            &["a f {}"],
        );
    }

    #[test]
    fn a_cut_answer_is_an_error() {
        let disconnected = |text: &str| Some(ModelError::disconnected(text));
        let (_, error) = decode(&[delta(json!({"content": "x"}))]);
        assert_eq!(
            error,
            disconnected("stream closed before the answer was complete")
        );
        let nameless = call(Some(0), Some("a"), None, "{}");
        let (_, error) = decode(&[nameless, finish("tool_calls")]);
        assert_eq!(error, disconnected("the model's call names no tool"));
    }

    #[test]
    fn answer_that_was_cut_is_kept_without_its_calls() {
        for reason in ["length", "max_tokens", "model_length", "content_filter"] {
            let chunks = [
                delta(json!({"content": "half a sen"})),
                call(Some(0), Some("a"), Some("f"), "{\"cmd\": \"rm"),
                finish(reason),
                json!("[DONE]"),
            ];
            let (events, error) = decode(&chunks);
            assert_eq!(error, None);
            let text = Some("half a sen".to_owned());
            let [.., ModelEvent::ItemDone(item), ModelEvent::Completed(end)] = &events[..] else {
                panic!("{events:?}");
            };
            assert_eq!(*item, message_item(text));
            assert_eq!(end.cut, Some(AnswerCut::from_server(reason)));
        }
    }

    #[test]
    fn errors_in_the_stream_have_their_meaning() {
        let failed = |error: Value| decode(&[json!({"error": error})]).1;
        let expected = Some(ModelError::ContextWindowExceeded { window: None });
        assert_eq!(failed(json!({"code": "context_length_exceeded"})), expected);
        let expected = Some(ModelError::reported("boom"));
        assert_eq!(
            failed(json!({"message": "boom", "type": "server_error"})),
            expected
        );
    }

    #[test]
    fn empty_answer_ends_at_the_done_mark() {
        let (events, error) = decode(&[json!("[DONE]")]);
        assert_eq!(error, None);
        assert!(matches!(
            events[..],
            [ModelEvent::Created, ModelEvent::Completed(_)]
        ));
    }

    #[test]
    fn invalid_chunks_are_skipped() {
        let (events, _) = decode(&[json!("nonsense"), json!([1]), finish("stop")]);
        assert_eq!(events.len(), 2);
    }
}
