//! Records compactions: the requests for a summary, and the replacement of the history.

use std::sync::Arc;

use bytes::Bytes;
use codex_model_client::{AttemptObserver, Completion, ModelError, Prompt, Provider};
use codex_protocol::ResponseItem;
use codex_rollout_trace::format::{Event, PayloadKind};
use codex_rollout_trace::ids::{CompactionId, CompactionRequestId};
use codex_rollout_trace::{Payloads, Recorder, Scope};
use parking_lot::Mutex;

use crate::payloads::{CompactionCheckpoint, CompactionResponse, weight_of};
use crate::process_state::SharedTraceState;

/// Records every attempt of one compaction request.
#[derive(Debug)]
pub(crate) struct CompactionTrace {
    recorder: Recorder,
    scope: Scope,
    model: String,
    compaction: CompactionId,
    process: Arc<SharedTraceState>,
    attempt: Mutex<Option<CompactionAttempt>>,
}

#[derive(Debug)]
struct CompactionAttempt {
    id: CompactionRequestId,
    items: Vec<ResponseItem>,
}

impl CompactionTrace {
    pub(crate) fn new(
        recorder: Recorder,
        scope: Scope,
        model: &str,
        compaction: &str,
        process: Arc<SharedTraceState>,
    ) -> Self {
        Self {
            recorder,
            scope,
            model: model.to_owned(),
            compaction: compaction.into(),
            process,
            attempt: Mutex::default(),
        }
    }

    fn fail(&self, error: String) {
        if let Some(attempt) = self.attempt.lock().take() {
            let compaction_id = self.compaction.clone();
            self.recorder.record(Some(&self.scope), error.len(), |_| {
                Event::CompactionRequestFailed {
                    compaction_id,
                    compaction_request_id: attempt.id,
                    error,
                }
            });
        }
    }
}

impl AttemptObserver for CompactionTrace {
    /// A compaction request is not an inference, so it is sent without an inference id.
    fn name(&self) -> Option<String> {
        let number = self.process.next_compaction();
        *self.attempt.lock() = Some(CompactionAttempt {
            id: format!("compaction_request:{number}").into(),
            items: Vec::new(),
        });
        None
    }

    fn started(&self, provider: &Provider, body: &Bytes) {
        let Some(id) = self.attempt.lock().as_ref().map(|it| it.id.clone()) else {
            return;
        };
        let (compaction_id, scope) = (self.compaction.clone(), self.scope.clone());
        let (model, provider_name) = (self.model.clone(), provider.name.clone());
        let (body, weight) = (body.clone(), body.len());
        let record = move |payloads: &mut Payloads<'_>| Event::CompactionRequestStarted {
            compaction_id,
            compaction_request_id: id,
            thread_id: scope.thread_id,
            codex_turn_id: scope.codex_turn_id,
            model,
            provider_name,
            request_payload: payloads.add_json(PayloadKind::CompactionRequest, &body),
        };
        self.recorder.record(Some(&self.scope), weight, record);
    }

    fn item(&self, item: &ResponseItem) {
        if let Some(attempt) = &mut *self.attempt.lock() {
            attempt.items.push(item.clone());
        }
    }

    fn completed(&self, _request_id: Option<&str>, _completion: &Completion) {
        if let Some(attempt) = self.attempt.lock().take() {
            let output_items = attempt.items;
            let weight = output_items.iter().map(weight_of).sum();
            let response = CompactionResponse { output_items };
            let compaction_id = self.compaction.clone();
            self.recorder
                .record(Some(&self.scope), weight, move |payloads| {
                    Event::CompactionRequestCompleted {
                        compaction_id,
                        compaction_request_id: attempt.id,
                        response_payload: payloads.add(PayloadKind::CompactionResponse, &response),
                    }
                });
        }
    }

    fn failed(&self, _request_id: Option<&str>, error: &ModelError) {
        self.fail(error.to_string());
    }

    fn dropped(&self, _request_id: Option<&str>) {
        self.fail("the session gave the summary up".to_owned());
    }
}

/// Records the replacement of a history.
pub(crate) fn installed(
    compaction: &str,
    before: Prompt,
    after: &[ResponseItem],
) -> (
    usize,
    impl FnOnce(&mut Payloads<'_>) -> Event + Send + use<>,
) {
    let weight = before.json_length() + after.iter().map(weight_of).sum::<usize>();
    let compaction_id = compaction.into();
    let checkpoint = CompactionCheckpoint {
        input_history: before,
        replacement_history: after.to_vec(),
    };
    let event = move |payloads: &mut Payloads<'_>| Event::CompactionInstalled {
        compaction_id,
        checkpoint_payload: payloads.add(PayloadKind::CompactionCheckpoint, &checkpoint),
    };
    (weight, event)
}
