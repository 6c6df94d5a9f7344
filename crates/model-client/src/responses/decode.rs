//! Decodes events of the Responses API.
//!
//! An event is first parsed as a borrowed envelope, so that only the type of irrelevant events is read, and little more of
//! a delta. Invalid data is skipped, except for a malformed tool call: it fails the response, because the turn would
//! otherwise wait for it forever.

use std::borrow::Cow;

use codex_protocol::{AnswerCut, ResponseItem, TokenUsage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::failure::ResponseFailure;
use super::socket_frames::SocketFrames;
use crate::error::ModelError;
use crate::event::{Completion, ModelEvent};
use crate::stream::{DecodeEvents, DecodeFlow, Events};

/// The item types of calls.
const CALLS: [&str; 4] = [
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "tool_search_call",
];

#[derive(Deserialize)]
struct EventEnvelope<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    summary_index: Option<i64>,
    content_index: Option<i64>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    headers: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CompletedResponse {
    id: String,
    usage: Option<ResponsesUsage>,
    end_turn: Option<bool>,
    #[serde(default, deserialize_with = "readable")]
    status: Option<String>,
    #[serde(default, deserialize_with = "readable")]
    incomplete_details: Option<IncompleteDetails>,
}

/// None for what has another form: it fails no answer.
fn readable<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: serde::de::DeserializeOwned,
    D: serde::Deserializer<'de>,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

#[derive(Deserialize)]
struct ResponsesUsage {
    input_tokens: i64,
    input_tokens_details: Option<InputDetails>,
    output_tokens: i64,
    output_tokens_details: Option<OutputDetails>,
    total_tokens: i64,
}

#[derive(Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: i64,
    #[serde(default)]
    cache_write_tokens: i64,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: i64,
}

#[derive(Deserialize)]
struct FailedResponse {
    error: Option<ResponseFailure>,
}

#[derive(Default, Deserialize)]
struct IncompleteResponse {
    id: Option<String>,
    usage: Option<ResponsesUsage>,
    incomplete_details: Option<IncompleteDetails>,
}

#[derive(Deserialize)]
struct ItemState {
    #[serde(rename = "type")]
    kind: String,
    status: Option<String>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct ResponseHeaders<'a> {
    #[serde(borrow)]
    headers: Option<&'a RawValue>,
}

/// Decodes one response.
#[derive(Debug, Default)]
pub(crate) struct ResponsesDecoder {
    server_model: Option<String>,
    socket: Option<SocketFrames>,
    /// Whether a call was left out, because the server cut it.
    has_cut_call: bool,
}

impl ResponsesDecoder {
    /// A decoder that knows which model the reply headers named.
    pub(crate) fn new(server_model: Option<String>) -> Self {
        Self {
            server_model,
            socket: None,
            has_cut_call: false,
        }
    }

    /// Also decodes what has no headers of its own on a websocket: errors and rate limits.
    pub(crate) fn on_socket(server_model: Option<String>, frames: SocketFrames) -> Self {
        Self {
            socket: Some(frames),
            ..Self::new(server_model)
        }
    }

    /// The model that the server named last.
    pub(crate) fn server_model(&self) -> Option<&str> {
        self.server_model.as_deref()
    }

    /// Reports the model that an event names, if it has changed.
    fn note_server_model(&mut self, envelope: &EventEnvelope<'_>, events: &mut Events) {
        let in_response = || {
            let response = envelope.response?.get();
            let response: ResponseHeaders<'_> = serde_json::from_str(response).ok()?;
            model_in_headers(response.headers?)
        };
        let Some(model) = in_response().or_else(|| model_in_headers(envelope.headers?)) else {
            return;
        };
        if self.server_model.as_ref() != Some(&model) {
            self.server_model = Some(model.clone());
            events.push_back(ModelEvent::ServerModel(model));
        }
    }
}

impl DecodeEvents for ResponsesDecoder {
    fn event(&mut self, data: &str, events: &mut Events) -> Result<DecodeFlow, ModelError> {
        let Ok(envelope) = serde_json::from_str::<EventEnvelope<'_>>(data) else {
            // Proxies report a failure behind them without a type.
            if let Ok(FailedResponse { error: Some(error) }) = serde_json::from_str(data) {
                return Err(error.into());
            }
            tracing::debug!("skipping an event that cannot be read");
            return Ok(DecodeFlow::Continue);
        };
        if envelope.response.is_some() || envelope.headers.is_some() {
            self.note_server_model(&envelope, events);
        }
        match &*envelope.kind {
            "response.completed" => {
                let Some(response) = envelope.response else {
                    return Ok(DecodeFlow::Continue);
                };
                let mut completion = completion(response)?;
                if self.has_cut_call {
                    completion.cut.get_or_insert_with(|| cut_by(None));
                }
                events.push_back(ModelEvent::Completed(completion));
                return Ok(DecodeFlow::Done);
            }
            "response.failed" => return Err(failure(envelope.response)),
            "response.incomplete" => {
                events.push_back(ModelEvent::Completed(incomplete(envelope.response)));
                return Ok(DecodeFlow::Done);
            }
            // Part of a call is another call.
            "response.output_item.done" if is_cut_call(envelope.item) => self.has_cut_call = true,
            "response.output_item.done" => events.extend(item_done(envelope.item)?),
            kind => {
                if let Some(frames) = &self.socket {
                    frames.decode(kind, data, events)?;
                }
                events.extend(progress(&envelope));
            }
        }
        Ok(DecodeFlow::Continue)
    }

    fn end(&mut self, _events: &mut Events) -> Result<(), ModelError> {
        Err(ModelError::disconnected(
            "stream closed before response.completed",
        ))
    }
}

/// Decodes events other than the last one. None of them can fail the response.
fn progress(envelope: &EventEnvelope<'_>) -> Option<ModelEvent> {
    let delta = || serde_json::from_str(envelope.delta?.get()).ok();
    Some(match &*envelope.kind {
        "response.output_text.delta" => ModelEvent::TextDelta(delta()?),
        "response.custom_tool_call_input.delta" => ModelEvent::InputDelta(delta()?),
        "response.reasoning_summary_text.delta" => ModelEvent::ReasoningSummaryDelta {
            delta: delta()?,
            summary_index: envelope.summary_index?,
        },
        "response.reasoning_text.delta" => ModelEvent::ReasoningDelta {
            delta: delta()?,
            content_index: envelope.content_index?,
        },
        "response.reasoning_summary_part.added" => ModelEvent::ReasoningSummaryPart {
            summary_index: envelope.summary_index?,
        },
        "response.output_item.added" => {
            ModelEvent::ItemAdded(serde_json::from_str(envelope.item?.get()).ok()?)
        }
        "response.created" => {
            envelope.response?;
            ModelEvent::Created
        }
        _ => return None,
    })
}

fn item_done(item: Option<&RawValue>) -> Result<Option<ModelEvent>, ModelError> {
    let Some(item) = item else {
        return Ok(None);
    };
    let error = match serde_json::from_str::<ResponseItem>(item.get()) {
        Ok(item) => return Ok(Some(ModelEvent::ItemDone(item))),
        Err(error) => error,
    };
    let value: Value = serde_json::from_str(item.get()).unwrap_or_default();
    let kind = value
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if CALLS.contains(&kind) {
        let detail = format!("the model's {kind} cannot be read: {error}");
        return Err(ModelError::disconnected(detail));
    }
    tracing::debug!(kind, %error, "skipping an item that cannot be read");
    Ok(None)
}

/// Whether the server says of a call that it is not all of it.
fn is_cut_call(item: Option<&RawValue>) -> bool {
    let item = item.and_then(|item| serde_json::from_str::<ItemState>(item.get()).ok());
    item.is_some_and(|item| {
        item.status.as_deref() == Some("incomplete") && CALLS.contains(&&*item.kind)
    })
}

fn completion(response: &RawValue) -> Result<Completion, ModelError> {
    let response: CompletedResponse = serde_json::from_str(response.get()).map_err(|error| {
        ModelError::disconnected(format!("failed to parse ResponseCompleted: {error}"))
    })?;
    // Some servers say it with the status alone.
    let cut = match response.status.as_deref() {
        Some("incomplete") => {
            let reason = response.incomplete_details.and_then(|it| it.reason);
            Some(cut_by(reason.as_deref()))
        }
        _ => None,
    };
    Ok(Completion {
        response_id: response.id,
        usage: response.usage.map(token_usage),
        end_turn: response.end_turn,
        cut,
    })
}

fn token_usage(usage: ResponsesUsage) -> TokenUsage {
    TokenUsage {
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage
            .input_tokens_details
            .as_ref()
            .map_or(0, |it| it.cached_tokens),
        cache_write_input_tokens: usage
            .input_tokens_details
            .map_or(0, |it| it.cache_write_tokens),
        output_tokens: usage.output_tokens,
        reasoning_output_tokens: usage
            .output_tokens_details
            .map_or(0, |it| it.reasoning_tokens),
        total_tokens: usage.total_tokens,
    }
}

fn failure(response: Option<&RawValue>) -> ModelError {
    response
        .and_then(|response| {
            serde_json::from_str::<FailedResponse>(response.get())
                .ok()?
                .error
        })
        .map_or_else(
            || ModelError::reported("response.failed event received"),
            ModelError::from,
        )
}

/// The end of a response that the server cut. What it lacks is no error: the answer is kept.
fn incomplete(response: Option<&RawValue>) -> Completion {
    let response: IncompleteResponse = response
        .and_then(|response| serde_json::from_str(response.get()).ok())
        .unwrap_or_default();
    let reason = response.incomplete_details.and_then(|it| it.reason);
    Completion {
        response_id: response.id.unwrap_or_default(),
        usage: response.usage.map(token_usage),
        end_turn: None,
        cut: Some(cut_by(reason.as_deref())),
    }
}

fn cut_by(reason: Option<&str>) -> AnswerCut {
    AnswerCut::from_server(reason.unwrap_or("unknown"))
}

/// The model in headers inside an event. A header is a string or an array of strings.
fn model_in_headers(headers: &RawValue) -> Option<String> {
    let headers: Value = serde_json::from_str(headers.get()).ok()?;
    let is_model = |name: &str| {
        name.eq_ignore_ascii_case("openai-model") || name.eq_ignore_ascii_case("x-openai-model")
    };
    let (_, value) = headers
        .as_object()?
        .iter()
        .find(|(name, _)| is_model(name))?;
    let text = value.as_str().or_else(|| value.get(0)?.as_str())?;
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Decodes a stream: its events, and the error at its end, if any.
    fn decode(stream: &[Value]) -> (Vec<ModelEvent>, Option<ModelError>) {
        let mut decoder = ResponsesDecoder::new(Some("m".to_owned()));
        let mut events = Events::new();
        for event in stream {
            match decoder.event(&event.to_string(), &mut events) {
                Ok(DecodeFlow::Continue) => {}
                Ok(DecodeFlow::Done) => return (events.into(), None),
                Err(error) => return (events.into(), Some(error)),
            }
        }
        let error = decoder.end(&mut events).err();
        (events.into(), error)
    }

    fn check(event: Value, expected: ModelEvent) {
        assert_eq!(decode(&[event]).0, [expected]);
    }

    fn check_error(event: Value, expected: ModelError) {
        let end = json!({"type": "response.completed", "response": {"id": "r"}});
        assert_eq!(decode(&[event, end]), (vec![], Some(expected)));
    }

    fn check_skipped(event: Value) {
        assert_eq!(decode(&[event]).0, []);
    }

    #[test]
    fn every_event_that_matters_is_read() {
        check(
            json!({"type": "response.created", "response": {"id": "r"}}),
            ModelEvent::Created,
        );
        check(
            json!({"type": "response.output_text.delta", "delta": "a\n\"é", "item_id": "i"}),
            ModelEvent::TextDelta("a\n\"é".to_owned()),
        );
        check(
            json!({"type": "response.reasoning_summary_part.added", "summary_index": 2}),
            ModelEvent::ReasoningSummaryPart { summary_index: 2 },
        );
        check(
            json!({"type": "response.reasoning_summary_text.delta", "delta": "d",
                   "summary_index": 1}),
            ModelEvent::ReasoningSummaryDelta {
                delta: "d".to_owned(),
                summary_index: 1,
            },
        );
        check(
            json!({"type": "response.reasoning_text.delta", "delta": "d", "content_index": 1}),
            ModelEvent::ReasoningDelta {
                delta: "d".to_owned(),
                content_index: 1,
            },
        );
        let item = json!({"type": "compaction_summary", "encrypted_content": "x"});
        let expected = ResponseItem::Compaction {
            encrypted_content: "x".to_owned(),
        };
        check(
            json!({"type": "response.output_item.added", "item": item}),
            ModelEvent::ItemAdded(expected.clone()),
        );
        check(
            json!({"type": "response.output_item.done", "item": item}),
            ModelEvent::ItemDone(expected),
        );
    }

    #[test]
    fn the_end_carries_usage_and_stops_reading() {
        let usage = json!({"input_tokens": 5, "input_tokens_details": {"cached_tokens": 2},
            "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 3},
            "total_tokens": 12});
        let expected = TokenUsage {
            input_tokens: 5,
            cached_input_tokens: 2,
            cache_write_input_tokens: 0,
            output_tokens: 7,
            reasoning_output_tokens: 3,
            total_tokens: 12,
        };
        check(
            json!({"type": "response.completed", "response": {"id": "r", "usage": usage}}),
            ModelEvent::Completed(Completion {
                response_id: "r".to_owned(),
                usage: Some(expected),
                end_turn: None,
                cut: None,
            }),
        );
        let bare = json!({"type": "response.completed", "response": {"id": "r", "usage": null}});
        let (events, error) = decode(&[bare.clone(), bare]);
        assert_eq!((events.len(), error), (1, None));
    }

    #[test]
    fn an_end_that_cannot_be_read_is_an_error() {
        for response in [json!({}), json!({"id": "r", "usage": {"input_tokens": 1}})] {
            let (_, error) = decode(&[json!({"type": "response.completed", "response": response})]);
            let text = error.unwrap().to_string();
            assert!(
                text.contains("failed to parse ResponseCompleted: "),
                "{text}"
            );
        }
    }

    #[test]
    fn failures_stop_at_once_and_have_their_meaning() {
        let failed =
            |error: Value| json!({"type": "response.failed", "response": {"error": error}});
        let code = |code: &str| failed(json!({"code": code, "message": "why"}));
        check_error(
            code("context_length_exceeded"),
            ModelError::ContextWindowExceeded { window: None },
        );
        check_error(code("insufficient_quota"), ModelError::QuotaExceeded);
        check_error(code("usage_not_included"), ModelError::UsageNotIncluded);
        let invalid = |text: &str| ModelError::InvalidRequest(text.to_owned());
        check_error(code("invalid_prompt"), invalid("why"));
        check_error(
            failed(json!({"code": "invalid_prompt"})),
            invalid("Invalid request."),
        );
        check_error(code("server_is_overloaded"), ModelError::ServerOverloaded);
        check_error(code("slow_down"), ModelError::ServerOverloaded);
        let unknown = ModelError::UnknownModel("why".to_owned());
        check_error(code("model_not_found"), unknown);
        let forbidden = ModelError::SecurityPolicy("why".to_owned());
        check_error(code("cyber_policy"), forbidden);
        check_error(code("flex_unavailable"), ModelError::FlexUnavailable);
        let by_rules = ModelError::PolicyCapacityUnavailable;
        check_error(code("policy_capacity_unavailable"), by_rules);
        check_error(code("new"), ModelError::reported("why"));
        check_error(
            failed(json!({"message": "why"})),
            ModelError::reported("why"),
        );
        let untyped = json!({"error": {"message": "why", "code": "500"}});
        check_error(untyped, ModelError::reported("why"));
        let unread = || ModelError::reported("response.failed event received");
        check_error(failed(Value::Null), unread());
        check_error(failed(json!("x")), ModelError::reported("x"));
        check_error(json!({"type": "response.failed"}), unread());
        check_error(
            failed(json!({"code": "rate_limit_exceeded", "message": "Try again in 2s."})),
            ModelError::RateLimited {
                detail: "Try again in 2s.".to_owned(),
                retry_after: Some(std::time::Duration::from_secs(2)),
            },
        );
    }

    #[test]
    fn incomplete_response_ends_with_its_reason() {
        let cut = |response: Value| {
            let (events, error) =
                decode(&[json!({"type": "response.incomplete", "response": response})]);
            assert_eq!(error, None);
            let [ModelEvent::Completed(end)] = &events[..] else {
                panic!("{events:?}");
            };
            end.clone()
        };
        let end = cut(json!({
            "id": "r",
            "incomplete_details": {"reason": "max_output_tokens"},
            "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        }));
        assert_eq!(end.cut, Some(AnswerCut::Length));
        assert_eq!(end.response_id, "r");
        assert_eq!(end.usage.map(|usage| usage.total_tokens), Some(7));
        let end = cut(json!({}));
        assert_eq!(end.cut, Some(AnswerCut::Other("unknown".to_owned())));
    }

    #[test]
    fn response_that_is_incomplete_by_its_status_was_cut() {
        let cut = |more: Value| {
            let mut response = json!({ "id": "r" });
            response
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            let (events, error) =
                decode(&[json!({"type": "response.completed", "response": response})]);
            assert_eq!(error, None);
            let [ModelEvent::Completed(end)] = &events[..] else {
                panic!("{events:?}");
            };
            end.cut.clone()
        };
        let details = json!({"reason": "max_output_tokens"});
        assert_eq!(
            cut(json!({"status": "incomplete", "incomplete_details": details})),
            Some(AnswerCut::Length)
        );
        assert!(cut(json!({"status": "incomplete"})).is_some());
        for other in [
            json!({"status": "completed"}),
            json!({"status": 7}),
            json!({"incomplete_details": 7}),
        ] {
            assert_eq!(cut(other), None);
        }
    }

    #[test]
    fn a_stream_without_its_end_is_an_error() {
        let expected = ModelError::disconnected("stream closed before response.completed");
        assert_eq!(decode(&[]), (vec![], Some(expected)));
    }

    #[test]
    fn malformed_call_fails_alone() {
        let done = |item: Value| json!({"type": "response.output_item.done", "item": item});
        for call in CALLS {
            let (_, error) = decode(&[done(json!({"type": call, "name": 7}))]);
            let text = error.unwrap().to_string();
            assert!(
                text.contains(&format!("the model's {call} cannot be read")),
                "{text}"
            );
        }
        check_skipped(done(json!({"type": "message", "role": "assistant"})));
        check_skipped(done(json!({"no": "type"})));
        check_skipped(done(json!(7)));
        check_skipped(json!({"type": "response.output_item.added",
                             "item": {"type": "function_call"}}));
    }

    #[test]
    fn unknown_items_are_kept_whole() {
        let item = json!({"type": "hologram", "x": 1});
        check(
            json!({"type": "response.output_item.done", "item": item}),
            ModelEvent::ItemDone(ResponseItem::Other(item)),
        );
    }

    #[test]
    fn irrelevant_stream_events_are_skipped() {
        check_skipped(json!({"type": "response.in_progress", "response": {"id": "r"}}));
        check_skipped(json!({"type": "response.function_call_arguments.delta", "delta": "x"}));
        check_skipped(json!({"type": "response.output_text.delta", "delta": 7}));
        check_skipped(json!({"type": "response.output_text.delta"}));
        check_skipped(json!({"type": "response.reasoning_text.delta", "delta": "x"}));
        check_skipped(json!({"type": "response.created"}));
        check_skipped(json!({"type": "response.completed"}));
        check_skipped(json!({"no": "type"}));
        check_skipped(json!([1]));
        let mut events = Events::new();
        let flow = ResponsesDecoder::default().event("[DONE]", &mut events);
        assert_eq!((flow, events.len()), (Ok(DecodeFlow::Continue), 0));
    }

    #[test]
    fn another_server_model_is_reported_once() {
        let in_response = |name: &str, model: Value| json!({"type": "response.in_progress", "response": {"headers": {name: model}}});
        let (events, _) = decode(&[
            in_response("OpenAI-Model", json!("m")),
            in_response("OpenAI-Model", json!("n")),
            in_response("x-openai-model", json!(["n"])),
            json!({"type": "codex.note", "headers": {"openai-model": "o"}}),
        ]);
        let expected = ["n", "o"].map(|model| ModelEvent::ServerModel(model.to_owned()));
        assert_eq!(events, expected);
    }
}
