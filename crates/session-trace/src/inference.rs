//! Records model requests and their responses.

use std::sync::Arc;

use bytes::Bytes;
use codex_model_client::{AttemptObserver, Completion, ModelError, Provider};
use codex_protocol::ResponseItem;
use codex_rollout_trace::format::{Event, PayloadKind, PayloadRef};
use codex_rollout_trace::ids::InferenceId;
use codex_rollout_trace::{Payloads, Recorder, Scope};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::payloads::{InferenceResponse, weight_of};
use crate::requests::RequestHistory;

/// Records every attempt of one request.
#[derive(Debug)]
pub(crate) struct InferenceTrace {
    recorder: Recorder,
    scope: Scope,
    model: String,
    requests: Arc<RequestHistory>,
    /// The current attempt.
    attempt: Mutex<Option<InferenceAttempt>>,
}

#[derive(Debug)]
struct InferenceAttempt {
    id: InferenceId,
    items: Vec<ResponseItem>,
}

impl InferenceAttempt {
    fn weight(&self) -> usize {
        self.items.iter().map(weight_of).sum()
    }

    /// The response so far, if any of it has arrived.
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
            cut: None,
            output_items: self.items,
        };
        (!is_empty).then(|| payloads.add(PayloadKind::InferenceResponse, &response))
    }
}

impl InferenceTrace {
    pub(crate) fn new(
        recorder: Recorder,
        scope: Scope,
        model: &str,
        requests: Arc<RequestHistory>,
    ) -> Self {
        Self {
            recorder,
            scope,
            model: model.to_owned(),
            requests,
            attempt: Mutex::default(),
        }
    }

    /// Records the end of the current attempt.
    fn end(
        &self,
        event: impl FnOnce(InferenceId, InferenceAttempt, &mut Payloads<'_>) -> Event + Send + 'static,
    ) {
        if let Some(attempt) = self.attempt.lock().take() {
            let (id, weight) = (attempt.id.clone(), attempt.weight());
            self.recorder
                .record(Some(&self.scope), weight, move |payloads| {
                    event(id, attempt, payloads)
                });
        }
    }
}

impl AttemptObserver for InferenceTrace {
    fn name(&self) -> Option<String> {
        let id = Uuid::new_v4().to_string();
        *self.attempt.lock() = Some(InferenceAttempt {
            id: id.as_str().into(),
            items: Vec::new(),
        });
        Some(id)
    }

    fn started(&self, provider: &Provider, body: &Bytes) {
        let Some(inference_call_id) = self.attempt.lock().as_ref().map(|it| it.id.clone()) else {
            return;
        };
        let (model, provider_name) = (self.model.clone(), provider.name.clone());
        let scope = self.scope.clone();
        self.requests.note(body, |request| {
            let weight = request.weight();
            let event = move |payloads: &mut Payloads<'_>| Event::InferenceStarted {
                inference_call_id,
                thread_id: scope.thread_id,
                codex_turn_id: scope.codex_turn_id,
                model,
                provider_name,
                request_payload: request.write(payloads),
                prepared_prompt_payload: None,
                warmup_context_payload: None,
            };
            self.recorder.record(Some(&self.scope), weight, event);
        });
    }

    fn item(&self, item: &ResponseItem) {
        if let Some(attempt) = &mut *self.attempt.lock() {
            attempt.items.push(item.clone());
        }
    }

    fn completed(&self, request_id: Option<&str>, completion: &Completion) {
        let upstream_request_id = request_id.map(str::to_owned);
        let (response_id, token_usage) = (completion.response_id.clone(), completion.usage);
        let cut = (completion.cut.as_ref()).map(|cut| cut.reason().to_owned());
        self.end(move |id, attempt, payloads| {
            let mut response = InferenceResponse {
                response_id: Some(response_id),
                upstream_request_id,
                token_usage,
                cut,
                output_items: attempt.items,
            };
            Event::InferenceCompleted {
                inference_call_id: id,
                response_payload: payloads.add(PayloadKind::InferenceResponse, &response),
                response_id: response.response_id.take().map(Into::into),
                upstream_request_id: response.upstream_request_id,
            }
        });
    }

    fn failed(&self, request_id: Option<&str>, error: &ModelError) {
        let (request_id, error) = (request_id.map(str::to_owned), error.to_string());
        self.end(move |id, attempt, payloads| Event::InferenceFailed {
            inference_call_id: id,
            upstream_request_id: request_id.clone(),
            error,
            partial_response_payload: attempt.partial(payloads, request_id),
        });
    }

    fn dropped(&self, request_id: Option<&str>) {
        let request_id = request_id.map(str::to_owned);
        self.end(move |id, attempt, payloads| Event::InferenceCancelled {
            inference_call_id: id,
            upstream_request_id: request_id.clone(),
            reason: "the session gave the response up".to_owned(),
            partial_response_payload: attempt.partial(payloads, request_id),
        });
    }
}
