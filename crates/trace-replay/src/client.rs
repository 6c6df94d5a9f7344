//! The model of a replay: compares each request with the recorded one and answers with the recorded response.

use std::sync::Arc;

use async_trait::async_trait;
use codex_model_client::{
    Completion, ModelClient, ModelError, ModelEvent, ModelList, ModelRequest, ModelStream,
    Provider, compact_body, stream_body,
};
use codex_protocol::{AnswerCut, ResponseItem, TokenUsage};
use codex_rollout_trace::format::PayloadRef;
use futures::StreamExt;
use futures::stream;
use serde::Deserialize;

use crate::errors::model_error;
use crate::state::{EarlyEnd, ReplayState};
use crate::thread_script::{RecordedEnd, RecordedRequest};

#[derive(Debug)]
pub(crate) struct RecordedModel {
    state: Arc<ReplayState>,
    provider: Provider,
}

/// The payload of a response.
#[derive(Default, Deserialize)]
struct RecordedResponse {
    #[serde(default)]
    output_items: Vec<ResponseItem>,
    #[serde(default)]
    token_usage: Option<TokenUsage>,
    #[serde(default)]
    cut: Option<String>,
}

impl RecordedModel {
    pub(crate) fn new(state: Arc<ReplayState>, provider: Provider) -> Self {
        Self { state, provider }
    }

    /// The recorded attempt that answers a request. Attempts that failed without any output, and were repeated with
    /// the same body, are skipped: the client repeats them before the engine knows.
    async fn recorded(&self, thread: &str, body: &[u8]) -> RecordedRequest {
        loop {
            let Some(recorded) = self.state.match_request(thread, body) else {
                // The replay has ended.
                return std::future::pending().await;
            };
            match &recorded.end {
                RecordedEnd::Failed {
                    at, partial: None, ..
                } if self.state.is_repeated(thread, recorded.turn, body) => {
                    self.state.wait(*at).await;
                    self.state.timeline.reach(*at);
                }
                _ => return recorded,
            }
        }
    }

    async fn response(&self, payload: &PayloadRef) -> RecordedResponse {
        let Some(bytes) = self.state.bytes(payload) else {
            return std::future::pending().await;
        };
        match serde_json::from_slice(&self.state.as_replayed(bytes)) {
            Ok(response) => response,
            Err(error) => {
                let reason = format!("payload {}: {error}", payload.raw_payload_id);
                self.state.finish(EarlyEnd::Unreadable(reason));
                std::future::pending().await
            }
        }
    }

    async fn partial(&self, payload: Option<&PayloadRef>) -> RecordedResponse {
        match payload {
            Some(payload) => self.response(payload).await,
            None => RecordedResponse::default(),
        }
    }

    fn error(&self, thread: &str, recorded: &RecordedRequest, message: &str) -> ModelError {
        let is_followed = self.state.is_followed(thread, recorded.turn);
        model_error(message, is_followed, recorded.is_turn_stopped)
    }
}

fn unencodable(error: serde_json::Error) -> ModelError {
    ModelError::Unsendable(error.to_string())
}

#[async_trait]
impl ModelClient for RecordedModel {
    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        if let Some(model) = self.state.continued.model() {
            return model.stream(request).await;
        }
        let body = stream_body(request, &self.provider).map_err(unencodable)?;
        let body = self.state.as_recorded(body);
        let thread = request.context.thread_id.as_str();
        let recorded = self.recorded(thread, &body).await;
        drop(body);
        let state = Arc::clone(&self.state);
        let items = |items: Vec<ResponseItem>| {
            let items = items.into_iter().map(|item| Ok(ModelEvent::ItemDone(item)));
            stream::iter([Ok(ModelEvent::Created)]).chain(stream::iter(items))
        };
        Ok(match &recorded.end {
            RecordedEnd::Completed {
                at,
                response_id,
                response,
            } => {
                let response = self.response(response).await;
                let completion = Completion {
                    response_id: response_id.clone().unwrap_or_default(),
                    usage: response.token_usage,
                    end_turn: None,
                    cut: response.cut.as_deref().map(AnswerCut::from_server),
                };
                let at = *at;
                let end = stream::once(async move {
                    state.wait(at).await;
                    state.timeline.reach(at);
                    Ok(ModelEvent::Completed(completion))
                });
                ModelStream::new(items(response.output_items).chain(end))
            }
            RecordedEnd::Failed { at, error, partial } => {
                let error = self.error(thread, &recorded, error);
                let response = self.partial(partial.as_ref()).await;
                let at = *at;
                let end = stream::once(async move {
                    state.wait(at).await;
                    state.timeline.reach(at);
                    Err(error)
                });
                ModelStream::new(items(response.output_items).chain(end))
            }
            RecordedEnd::Open { partial } => {
                let response = self.partial(partial.as_ref()).await;
                let started = recorded.started;
                let rest = stream::once(async move {
                    state.timeline.reach_after(started);
                    std::future::pending().await
                });
                ModelStream::new(items(response.output_items).chain(rest))
            }
        })
    }

    async fn compact(&self, request: &ModelRequest) -> Result<Vec<ResponseItem>, ModelError> {
        if let Some(model) = self.state.continued.model() {
            return model.compact(request).await;
        }
        let body = compact_body(request, &self.provider).map_err(unencodable)?;
        let body = self.state.as_recorded(body);
        let thread = request.context.thread_id.as_str();
        let recorded = self.recorded(thread, &body).await;
        match &recorded.end {
            RecordedEnd::Completed { at, response, .. } => {
                let response = self.response(response).await;
                self.state.wait(*at).await;
                self.state.timeline.reach(*at);
                Ok(response.output_items)
            }
            RecordedEnd::Failed { at, error, .. } => {
                let error = self.error(thread, &recorded, error);
                self.state.wait(*at).await;
                self.state.timeline.reach(*at);
                Err(error)
            }
            RecordedEnd::Open { .. } => {
                self.state.timeline.reach_after(recorded.started);
                std::future::pending().await
            }
        }
    }

    async fn models(&self) -> Result<ModelList, ModelError> {
        Ok(ModelList::default())
    }

    fn provider(&self) -> &Provider {
        &self.provider
    }
}
