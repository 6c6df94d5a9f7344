//! Sends a call and retries it until it succeeds or a limit is reached.
//!
//! Two cases are retried without telling the user: a call without a reply or with a server error, after a wait; and a call
//! whose login was rejected, as long as the login can be renewed.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use codex_http::{HandshakeKey, SentSecrets, error_text, remove_secrets};
use futures::future::{Either, select};
use reqwest::header::HeaderMap;
use reqwest::{Method, Response};

use crate::credential::{Authorization, Recovery};
use crate::error::{BreakCause, ModelError};
use crate::error_reply::{ErrorReply, request_id};
use crate::headers::HeaderBuilder;
use crate::http_client::HttpModelClient;
use crate::provider;
use crate::request::RequestContext;
use crate::retry::RetryPolicy;
use crate::unreachable::Unreachable;

/// Limit on login renewals per call, whatever the source allows.
const MAX_RECOVERIES: u32 = 4;
/// Limit on a wait in this layer, because the user does not see it.
const LONGEST_SILENT_WAIT: Duration = Duration::from_secs(30);
/// Limits on reading an error body.
const MAX_ERROR_BYTES: usize = 64 * 1024;
const ERROR_BODY_TIME: Duration = Duration::from_secs(10);
const COMPRESSION_LEVEL: i32 = 3;
/// Larger bodies are compressed by another thread.
const LARGE_BODY_BYTES: usize = 256 * 1024;

/// A call of an endpoint.
pub(crate) struct EndpointCall<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) query: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<Bytes>,
    /// The body for the observer, if it should see the call.
    pub(crate) shown: Option<Bytes>,
    pub(crate) context: &'a RequestContext,
    pub(crate) purpose: CallPurpose,
}

/// The purpose of a call, which determines its headers.
#[derive(Clone, Debug)]
pub(crate) enum CallPurpose {
    Turn,
    /// The handshake of a websocket for turns.
    WebSocket(HandshakeKey),
    Compaction,
    Models,
}

/// A call with URL and headers.
struct OutgoingCall<'a> {
    call: &'a EndpointCall<'a>,
    /// The body as it is sent.
    body: Option<Bytes>,
    url: String,
    headers: HeaderMap,
    secrets: SentSecrets,
}

/// A successful reply.
#[derive(Debug)]
pub(crate) struct SuccessReply {
    pub(crate) response: Response,
    /// Removed from errors about the body.
    pub(crate) secrets: SentSecrets,
}

/// A failed call, with the server's id of the request.
struct FailedCall {
    error: ModelError,
    request_id: Option<String>,
}

impl From<ModelError> for FailedCall {
    fn from(error: ModelError) -> Self {
        let request_id = error.request_id().map(str::to_owned);
        Self { error, request_id }
    }
}

impl HttpModelClient {
    /// Sends a call. Renews a rejected ChatGPT login as long as its source has steps left.
    pub(crate) async fn exchange(
        &self,
        call: &EndpointCall<'_>,
    ) -> Result<SuccessReply, ModelError> {
        for step in 0..MAX_RECOVERIES {
            let authorization = self.authorization().await?;
            let error = match self.attempt(call, &authorization).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            if error.http_status() != Some(401) || !authorization.is_chatgpt() {
                return Err(error);
            }
            match self.dependencies.credentials.recover(step).await? {
                Recovery::Retry => {}
                Recovery::Exhausted => return Err(error),
            }
        }
        let authorization = self.authorization().await?;
        self.attempt(call, &authorization).await
    }

    pub(crate) async fn authorization(&self) -> Result<Authorization, ModelError> {
        let dependencies = &self.dependencies;
        let (environment, credentials) = (&*dependencies.environment, &*dependencies.credentials);
        Authorization::find(&self.provider, environment, credentials).await
    }

    /// Makes one attempt and reports it to the observer.
    async fn attempt(
        &self,
        call: &EndpointCall<'_>,
        authorization: &Authorization,
    ) -> Result<SuccessReply, ModelError> {
        let watched = call.context.observer.as_ref().zip(call.shown.as_ref());
        let attempt_id = watched.and_then(|(observer, _)| observer.name());
        let compressed = self.compressed(call, authorization).await;
        let outgoing = self.outgoing(call, compressed, authorization, attempt_id);
        let mut sending = pin!(self.send_with_retries(&outgoing));
        let sent = match watched {
            None => sending.await,
            Some((observer, body)) => {
                // Reported while the server already works, and also if the call is cancelled before.
                let note = OnDrop(|| observer.started(&self.provider, body));
                let sent = poll_once(sending.as_mut()).await;
                drop(note);
                match sent {
                    Some(sent) => sent,
                    None => sending.await,
                }
            }
        };
        match sent {
            Ok(response) => Ok(SuccessReply {
                response,
                secrets: outgoing.secrets.clone(),
            }),
            Err(FailedCall { error, request_id }) => {
                if let Some((observer, _)) = watched {
                    observer.failed(request_id.as_deref(), &error);
                }
                Err(error)
            }
        }
    }

    /// The compressed body of a call, for providers that take it.
    async fn compressed(
        &self,
        call: &EndpointCall<'_>,
        authorization: &Authorization,
    ) -> Option<Bytes> {
        if !self.provider.takes_compressed_requests || !authorization.is_chatgpt() {
            return None;
        }
        let body = call.body.clone()?;
        let compress = move || zstd::bulk::compress(&body, COMPRESSION_LEVEL).ok();
        if call.body.as_ref()?.len() < LARGE_BODY_BYTES {
            return compress().map(Bytes::from);
        }
        // Other work of this thread would wait for too long.
        let compressed = tokio::task::spawn_blocking(compress).await;
        compressed.ok().flatten().map(Bytes::from)
    }

    fn outgoing<'a>(
        &self,
        call: &'a EndpointCall<'a>,
        compressed: Option<Bytes>,
        authorization: &Authorization,
        attempt_id: Option<String>,
    ) -> OutgoingCall<'a> {
        let dependencies = &self.dependencies;
        let mut headers = HeaderBuilder::common(
            &self.provider,
            &*dependencies.environment,
            &dependencies.identity,
            authorization,
        );
        if call.body.is_some() {
            headers.set("content-type", "application/json");
        }
        if compressed.is_some() {
            headers.set("content-encoding", "zstd");
        }
        if !matches!(call.purpose, CallPurpose::Models) {
            headers.add_context(call.context);
        }
        match &call.purpose {
            CallPurpose::Turn => {
                headers.set("accept", "text/event-stream");
                headers.add_turn(call.context);
            }
            CallPurpose::WebSocket(_) => {
                headers.set("openai-beta", "responses_websockets=2026-02-06");
                headers.add_turn(call.context);
            }
            CallPurpose::Compaction | CallPurpose::Models => {}
        }
        headers.set_if("x-codex-inference-call-id", attempt_id);
        let chatgpt = authorization.is_chatgpt();
        let mut headers = headers.into_map();
        if let CallPurpose::WebSocket(key) = &call.purpose {
            key.add_headers(&mut headers);
        }
        OutgoingCall {
            call,
            body: compressed.or_else(|| call.body.clone()),
            url: provider::url(&self.provider, call.path, chatgpt, call.query),
            secrets: {
                let mut secrets = SentSecrets::from_headers(&headers);
                let parameters = self.provider.query_params.values();
                parameters.for_each(|value| secrets.add(value));
                secrets
            },
            headers,
        }
    }

    async fn send_with_retries(&self, outgoing: &OutgoingCall<'_>) -> Result<Response, FailedCall> {
        let policy = match (&outgoing.call.purpose, outgoing.call.context.attempt) {
            // Retried by the caller, who falls back to HTTP then.
            (CallPurpose::WebSocket(_), _) => RetryPolicy::new(0),
            (_, 0) => RetryPolicy::new(self.provider.request_max_retries),
            // The caller already retries this request.
            _ => RetryPolicy::new(0),
        };
        let clock = &*self.dependencies.clock;
        let mut retry = 0;
        loop {
            let failure = match self.send(outgoing).await {
                Ok(response) => return Ok(response),
                Err(failure) => failure,
            };
            retry += 1;
            // On this machine a server answers at the first repeat, or nobody has started it.
            let is_futile = matches!(&failure.error, ModelError::Unreachable(server) if server.is_local && retry > 1);
            if is_futile {
                return Err(failure);
            }
            let wait = policy.wait(failure.error.retry_after(), retry, clock);
            match wait.filter(|wait| *wait <= LONGEST_SILENT_WAIT) {
                Some(wait) if is_repeated(&failure.error) => clock.sleep(wait).await,
                _ => return Err(failure),
            }
        }
    }

    async fn send(&self, outgoing: &OutgoingCall<'_>) -> Result<Response, FailedCall> {
        let client = self.dependencies.http.client(&outgoing.url);
        let client = client.map_err(|error| ModelError::Unsendable(error.to_string()))?;
        let mut request = client
            .request(outgoing.call.method.clone(), &outgoing.url)
            .headers(outgoing.headers.clone());
        if let Some(body) = &outgoing.body {
            request = request.body(body.clone());
        }
        let limit = self.provider.stream_idle_timeout;
        let response = match tokio::time::timeout(limit, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_builder() => {
                return Err(ModelError::Unsendable(error_text(error)).into());
            }
            Ok(Err(error)) => {
                let error = match Unreachable::from_error(&error, &outgoing.url) {
                    Some(server) => ModelError::Unreachable(Box::new(server)),
                    None => ModelError::not_connected(error_text(error)),
                };
                return Err(error.into());
            }
            Err(_) => {
                let (what, after) = ("the model's server to reply", limit);
                let cause = BreakCause::NoConnection;
                return Err(ModelError::TimedOut { what, after, cause }.into());
            }
        };
        let status = response.status();
        let switched = matches!(outgoing.call.purpose, CallPurpose::WebSocket(_)) && status == 101;
        if status.is_success() || switched {
            return Ok(response);
        }
        Err(self.failure(response, &outgoing.secrets).await)
    }

    async fn failure(&self, response: Response, secrets: &SentSecrets) -> FailedCall {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let mut url = response.url().clone();
        remove_secrets(&mut url);
        let body = read_beginning(response, MAX_ERROR_BYTES);
        let body = tokio::time::timeout(ERROR_BODY_TIME, body).await;
        // Secrets are removed before the text is cut, so that no part of one remains.
        let body = String::from_utf8_lossy(&body.unwrap_or_default()).into_owned();
        let body = secrets.redact(body);
        let reply = ErrorReply {
            status,
            headers: &headers,
            body: body.as_bytes(),
            url: url.as_str(),
        };
        FailedCall {
            error: reply
                .into_error(&self.dependencies.clock.now())
                .redacted(secrets),
            request_id: request_id(&headers),
        }
    }
}

/// Calls a function when it is dropped.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Polls a call once, so that it is sent. Returns its result if that is already known.
async fn poll_once<T>(call: impl Future<Output = T> + Unpin) -> Option<T> {
    // The connection is driven by another task, which must run first.
    let turn_of_others = pin!(tokio::task::yield_now());
    match select(call, turn_of_others).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}

/// Whether this layer retries: without a reply, after a server error, and if the server asks for a wait.
fn is_repeated(error: &ModelError) -> bool {
    match error {
        ModelError::ServerFailed { .. }
        | ModelError::ServerOverloaded
        | ModelError::Disconnected { .. }
        | ModelError::Unreachable(_)
        | ModelError::TimedOut { .. } => true,
        ModelError::UnexpectedStatus(status) => status.status >= 500,
        ModelError::TooManyRequests { retry_after, .. } => retry_after.is_some(),
        _ => false,
    }
}

/// Reads a whole body up to a limit.
pub(crate) async fn read_body(mut response: Response, limit: usize) -> Result<Vec<u8>, ModelError> {
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| ModelError::disconnected(error_text(error)))?
    {
        if body.len() + chunk.len() > limit {
            let text = format!("the reply is larger than {limit} bytes");
            return Err(ModelError::disconnected(text));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads at most `limit` bytes of a body.
async fn read_beginning(mut response: Response, limit: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = limit - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == limit {
            break;
        }
    }
    body
}
