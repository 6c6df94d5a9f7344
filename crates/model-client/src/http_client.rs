//! The model client for HTTP.
//!
//! One client serves one provider and any number of threads. It builds the calls; [`crate::exchange`] sends and
//! retries them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use codex_http::Environment;
use codex_http::HttpPool;
use codex_protocol::ResponseItem;
use codex_protocol::{Provider, WireApi};
use futures::StreamExt;
use futures::future::BoxFuture;
use reqwest::{Method, Response};
use serde::Deserialize;
use serde_json::Value;

use crate::attempt_recorder::AttemptRecorder;
use crate::catalog::{ListedModel, readable};
use crate::client::{ModelClient, ModelList};
use crate::clock::Clock;
use crate::credential::CredentialSource;
use crate::error::{BreakCause, ModelError};
use crate::error_reply::request_id;
use crate::event::Completion;
use crate::exchange::{CallPurpose, EndpointCall, SuccessReply, read_body};
use crate::headers::{reply_events, server_model};
use crate::identity::ClientIdentity;
use crate::rate_limits::text;
use crate::request::{ModelRequest, RequestContext};
use crate::responses::ResponsesDecoder;
use crate::stream::{EventReader, ModelStream};
use crate::{chat, responses};

const MODELS_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum size of a reply that is not a stream.
pub(crate) const MAX_REPLY_BYTES: usize = 64 * 1024 * 1024;

/// What a client needs from its environment.
#[derive(Clone)]
pub struct ClientDependencies {
    /// The identity of the program.
    pub identity: ClientIdentity,
    /// The environment variables that providers refer to.
    pub environment: Arc<dyn Environment>,
    /// The source of the user's login.
    pub credentials: Arc<dyn CredentialSource>,
    /// Time and randomness.
    pub clock: Arc<dyn Clock>,
    pub http: Arc<HttpPool>,
}

impl fmt::Debug for ClientDependencies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClientDependencies")
            .field("identity", &self.identity)
            .field("credentials", &self.credentials)
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

/// A client for the model of one provider.
#[derive(Clone, Debug)]
pub struct HttpModelClient {
    pub(crate) provider: Provider,
    pub(crate) dependencies: ClientDependencies,
}

impl HttpModelClient {
    /// Creates a client. No connection is opened yet.
    pub fn new(provider: Provider, dependencies: ClientDependencies) -> Self {
        Self {
            provider,
            dependencies,
        }
    }

    async fn stream_responses(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let body = responses::stream_body(request, &self.provider).map_err(unencodable)?;
        let body = Bytes::from(body);
        let shown = Some(body.clone());
        let accepted = self.post_turn("responses", body, shown, request).await?;
        let decoder = ResponsesDecoder::new(server_model(accepted.response.headers()));
        Ok(self.read(accepted, decoder, &request.context))
    }

    async fn stream_chat(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let body = Bytes::from(chat::body(request).map_err(unencodable)?);
        let path = "chat/completions";
        let shown = match request.context.observer {
            None => None,
            Some(_) => responses::stream_body(request, &self.provider).ok(),
        };
        let shown = shown.map(Bytes::from);
        let accepted = self.post_turn(path, body, shown, request).await?;
        let decoder = chat::ChatDecoder::new(&request.tools);
        Ok(self.read(accepted, decoder, &request.context))
    }

    async fn post_turn(
        &self,
        path: &str,
        body: Bytes,
        shown: Option<Bytes>,
        request: &ModelRequest,
    ) -> Result<SuccessReply, ModelError> {
        self.exchange(&EndpointCall {
            method: Method::POST,
            path,
            query: &[],
            body: Some(body),
            shown,
            context: &request.context,
            purpose: CallPurpose::Turn,
        })
        .await
    }

    fn read<D: crate::stream::DecodeEvents + Unpin + 'static>(
        &self,
        accepted: SuccessReply,
        decoder: D,
        context: &RequestContext,
    ) -> ModelStream {
        let SuccessReply { response, secrets } = accepted;
        let first = reply_events(response.headers(), context);
        let request_id = request_id(response.headers());
        let idle_timeout = self.provider.stream_idle_timeout;
        let turn = context.turn_state.clone();
        let reader = EventReader::new(response.into(), decoder, first, idle_timeout, secrets, turn);
        let stream = match &context.observer {
            None => ModelStream::new(reader),
            Some(observer) => {
                let mut recorder = AttemptRecorder::new(Arc::clone(observer), request_id.clone());
                ModelStream::new(reader.inspect(move |event| recorder.record(event)))
            }
        };
        stream.with_request_id(request_id)
    }

    async fn fetch_models(&self) -> Result<ModelList, ModelError> {
        let SuccessReply { response, secrets } = self
            .exchange(&EndpointCall {
                method: Method::GET,
                path: "models",
                query: &[("client_version", self.dependencies.identity.short_version())],
                body: None,
                shown: None,
                context: &RequestContext::default(),
                purpose: CallPurpose::Models,
            })
            .await?;
        let etag = text(response.headers(), "etag").map(str::to_owned);
        let body = read_body(response, MAX_REPLY_BYTES).await?;
        let reply: ModelsReply = serde_json::from_slice(&body).map_err(|error| {
            ModelError::disconnected(format!("unreadable models: {error}")).redacted(&secrets)
        })?;
        let own = reply.models.into_iter().filter_map(readable);
        let listed = reply.data.into_iter().filter_map(|entry| {
            let listed: ListedModel = serde_json::from_value(entry).ok()?;
            listed.into_info()
        });
        Ok(ModelList {
            models: own.chain(listed).collect(),
            etag,
        })
    }
}

#[async_trait]
impl ModelClient for HttpModelClient {
    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        match self.provider.wire_api {
            WireApi::Responses => {
                if let Some(thread) = self.socket_of(request)
                    && let Some(stream) = self.stream_on_socket(request, thread).await?
                {
                    return Ok(stream);
                }
                self.stream_responses(request).await
            }
            WireApi::Chat => self.stream_chat(request).await,
        }
    }

    fn prewarm(&self, request: ModelRequest) -> Option<BoxFuture<'static, ()>> {
        self.prewarm_socket(request)
    }

    async fn compact(&self, request: &ModelRequest) -> Result<Vec<ResponseItem>, ModelError> {
        if request.input.is_empty() {
            return Ok(Vec::new());
        }
        let body = responses::compact_body(request, &self.provider).map_err(unencodable)?;
        let body = Bytes::from(body);
        let SuccessReply { response, secrets } = self
            .exchange(&EndpointCall {
                method: Method::POST,
                path: "responses/compact",
                query: &[],
                shown: Some(body.clone()),
                body: Some(body),
                context: &request.context,
                purpose: CallPurpose::Compaction,
            })
            .await?;
        let observer = request.context.observer.as_ref();
        let request_id = request_id(response.headers());
        let mut recorder =
            observer.map(|observer| AttemptRecorder::new(Arc::clone(observer), request_id));
        let reply = read_compacted(response).await;
        let reply = reply.map_err(|error| error.redacted(&secrets));
        if let Some(recorder) = &mut recorder {
            match &reply {
                Ok(items) => {
                    items.iter().for_each(|item| recorder.item(item));
                    recorder.complete(&Completion::default());
                }
                Err(error) => recorder.fail(error),
            }
        }
        reply
    }

    async fn models(&self) -> Result<ModelList, ModelError> {
        let reply = tokio::time::timeout(MODELS_TIMEOUT, self.fetch_models());
        reply.await.unwrap_or(Err(ModelError::TimedOut {
            what: "the list of models",
            after: MODELS_TIMEOUT,
            cause: BreakCause::NoConnection,
        }))
    }

    fn provider(&self) -> &Provider {
        &self.provider
    }
}

async fn read_compacted(response: Response) -> Result<Vec<ResponseItem>, ModelError> {
    let body = read_body(response, MAX_REPLY_BYTES).await?;
    let reply: CompactReply = serde_json::from_slice(&body)
        .map_err(|error| ModelError::disconnected(format!("unreadable reply: {error}")))?;
    Ok(reply.output)
}

#[derive(Deserialize)]
struct CompactReply {
    output: Vec<ResponseItem>,
}

#[derive(Deserialize)]
struct ModelsReply {
    #[serde(default)]
    models: Vec<Value>,
    /// The list of servers that speak the protocol and know no more of their models than names.
    #[serde(default)]
    data: Vec<Value>,
}

pub(crate) fn unencodable(error: serde_json::Error) -> ModelError {
    ModelError::Unsendable(format!("the request cannot be written as JSON: {error}"))
}
