//! What the model was asked, and what it answered.

use std::sync::Mutex;

use bytes::Bytes;
use codex_model_client::{AttemptObserver, Completion, ModelError, Provider};
use codex_protocol::ResponseItem;
use codex_rollout_trace::format::{Event, PayloadKind, PayloadRef};
use codex_rollout_trace::ids::InferenceId;
use codex_rollout_trace::{Payloads, Recorder, Scope};
use uuid::Uuid;

use crate::payloads::{InferenceResponse, weight_of};
use crate::traces::lock;

/// Writes down every attempt at one request.
#[derive(Debug)]
pub(crate) struct InferenceTrace {
    recorder: Recorder,
    scope: Scope,
    model: String,
    /// The attempt that is under way.
    attempt: Mutex<Option<Attempt>>,
}

#[derive(Debug)]
struct Attempt {
    id: InferenceId,
    items: Vec<ResponseItem>,
}

impl Attempt {
    /// The part of a response that came, if any did.
    fn partial(
        self,
        payloads: &mut Payloads<'_>,
        request_id: Option<String>,
    ) -> Option<PayloadRef> {
        let is_empty = self.items.is_empty();
        let response = InferenceResponse {
            response_id: None,
            upstream_request_id: request_id,
            token_usage: None,
            output_items: self.items,
        };
        (!is_empty).then(|| add(payloads, response))
    }
}

fn add(payloads: &mut Payloads<'_>, response: InferenceResponse) -> PayloadRef {
    let weight = response.output_items.iter().map(weight_of).sum();
    payloads.add(PayloadKind::InferenceResponse, weight, response)
}

impl InferenceTrace {
    pub(crate) fn new(recorder: Recorder, scope: Scope, model: &str) -> Self {
        Self {
            recorder,
            scope,
            model: model.to_owned(),
            attempt: Mutex::default(),
        }
    }

    /// Records the end of the attempt that is under way.
    fn end(&self, event: impl FnOnce(InferenceId, Attempt, &mut Payloads<'_>) -> Event) {
        if let Some(attempt) = lock(&self.attempt).take() {
            let id = attempt.id.clone();
            self.recorder
                .record(Some(&self.scope), |payloads| event(id, attempt, payloads));
        }
    }
}

impl AttemptObserver for InferenceTrace {
    fn started(&self, provider: &Provider, body: &Bytes) -> Option<String> {
        let id = Uuid::new_v4().to_string();
        let inference_call_id = InferenceId::from(id.as_str());
        *lock(&self.attempt) = Some(Attempt {
            id: inference_call_id.clone(),
            items: Vec::new(),
        });
        self.recorder
            .record(Some(&self.scope), |payloads| Event::InferenceStarted {
                inference_call_id,
                thread_id: self.scope.thread_id.clone(),
                codex_turn_id: self.scope.codex_turn_id.clone(),
                model: self.model.clone(),
                provider_name: provider.name.clone(),
                request_payload: payloads.add_json(PayloadKind::InferenceRequest, body.clone()),
            });
        Some(id)
    }

    fn item(&self, item: &ResponseItem) {
        if let Some(attempt) = &mut *lock(&self.attempt) {
            attempt.items.push(item.clone());
        }
    }

    fn completed(&self, request_id: Option<&str>, completion: &Completion) {
        let upstream_request_id = request_id.map(str::to_owned);
        let response_id = completion.response_id.clone();
        self.end(|id, attempt, payloads| Event::InferenceCompleted {
            inference_call_id: id,
            response_id: Some(response_id.as_str().into()),
            upstream_request_id: upstream_request_id.clone(),
            response_payload: add(
                payloads,
                InferenceResponse {
                    response_id: Some(response_id),
                    upstream_request_id,
                    token_usage: completion.usage,
                    output_items: attempt.items,
                },
            ),
        });
    }

    fn failed(&self, request_id: Option<&str>, error: &ModelError) {
        let request_id = request_id.map(str::to_owned);
        self.end(|id, attempt, payloads| Event::InferenceFailed {
            inference_call_id: id,
            upstream_request_id: request_id.clone(),
            error: error.to_string(),
            partial_response_payload: attempt.partial(payloads, request_id),
        });
    }

    fn dropped(&self, request_id: Option<&str>) {
        let request_id = request_id.map(str::to_owned);
        self.end(|id, attempt, payloads| Event::InferenceCancelled {
            inference_call_id: id,
            upstream_request_id: request_id.clone(),
            reason: "the session gave the response up".to_owned(),
            partial_response_payload: attempt.partial(payloads, request_id),
        });
    }
}
