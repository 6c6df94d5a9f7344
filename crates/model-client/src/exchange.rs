//! Sending one call until there is a successful reply, or nothing left to try.
//!
//! Two things are repeated here, both silently: a call that got no reply or a server failure, after a
//! wait; and a call whose login was refused, each time the login could be renewed.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use codex_http::{SentSecrets, error_text, remove_secrets};
use futures::future::Either;
use futures::future::select;
use reqwest::Method;
use reqwest::Response;
use reqwest::header::HeaderMap;

use crate::credential::Authorization;
use crate::credential::Recovery;
use crate::error::ModelError;
use crate::error_reply::ErrorReply;
use crate::error_reply::request_id;
use crate::headers::Headers;
use crate::http_client::HttpModelClient;
use crate::provider;
use crate::request::RequestContext;
use crate::retry::RetryPolicy;

/// How often a login can be renewed for one call, whatever its source says.
const MAX_RECOVERIES: u32 = 4;
/// Nobody is told about the waits of this layer, so they must be short.
const LONGEST_SILENT_WAIT: Duration = Duration::from_secs(30);
/// How much of a body is read for its error, and for how long.
const MAX_ERROR_BYTES: usize = 64 * 1024;
const ERROR_BODY_TIME: Duration = Duration::from_secs(10);

/// One call of an endpoint.
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) query: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<Bytes>,
    /// The body for those who watch, if they are to hear of the call.
    pub(crate) shown: Option<Bytes>,
    pub(crate) context: &'a RequestContext,
    pub(crate) purpose: Purpose,
}

/// What a call is for, which decides on its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Turn,
    Compaction,
    Models,
}

/// A call as it goes out.
struct Outgoing<'a> {
    call: &'a Call<'a>,
    url: String,
    headers: HeaderMap,
    secrets: SentSecrets,
}

/// A reply that is a success.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) response: Response,
    /// What errors of its body must not show.
    pub(crate) secrets: SentSecrets,
}

/// A call that failed, with the id that the server gave it.
struct Failure {
    error: ModelError,
    request_id: Option<String>,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let request_id = error.request_id().map(str::to_owned);
        Self { error, request_id }
    }
}

impl HttpModelClient {
    /// Sends a call; a refused ChatGPT login is renewed as long as its source knows how.
    pub(crate) async fn exchange(&self, call: &Call<'_>) -> Result<Accepted, ModelError> {
        for step in 0..MAX_RECOVERIES {
            let authorization = self.authorization().await?;
            let error = match self.attempt(call, &authorization).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            if error.http_status() != Some(401) || !authorization.is_chatgpt() {
                return Err(error);
            }
            match self.surroundings.credentials.recover(step).await? {
                Recovery::Retry => {}
                Recovery::Exhausted => return Err(error),
            }
        }
        let authorization = self.authorization().await?;
        self.attempt(call, &authorization).await
    }

    async fn authorization(&self) -> Result<Authorization, ModelError> {
        let surroundings = &self.surroundings;
        let (environment, credentials) = (&*surroundings.environment, &*surroundings.credentials);
        Authorization::find(&self.provider, environment, credentials).await
    }

    /// One attempt, which those who watch hear of.
    async fn attempt(
        &self,
        call: &Call<'_>,
        authorization: &Authorization,
    ) -> Result<Accepted, ModelError> {
        let watched = call.context.observer.as_ref().zip(call.shown.as_ref());
        let attempt_id = watched.and_then(|(observer, _)| observer.name());
        let outgoing = self.outgoing(call, authorization, attempt_id);
        let mut sending = pin!(self.send_with_retries(&outgoing));
        let sent = match watched {
            None => sending.await,
            Some((observer, body)) => {
                // It is noted while the server is at work already, and also when it is given up before.
                let note = OnDrop(|| observer.started(&self.provider, body));
                let sent = on_its_way(sending.as_mut()).await;
                drop(note);
                match sent {
                    Some(sent) => sent,
                    None => sending.await,
                }
            }
        };
        match sent {
            Ok(response) => Ok(Accepted {
                response,
                secrets: outgoing.secrets.clone(),
            }),
            Err(Failure { error, request_id }) => {
                if let Some((observer, _)) = watched {
                    observer.failed(request_id.as_deref(), &error);
                }
                Err(error)
            }
        }
    }

    fn outgoing<'a>(
        &self,
        call: &'a Call<'a>,
        authorization: &Authorization,
        attempt_id: Option<String>,
    ) -> Outgoing<'a> {
        let surroundings = &self.surroundings;
        let mut headers = Headers::common(
            &self.provider,
            &*surroundings.environment,
            &surroundings.identity,
            authorization,
        );
        if call.body.is_some() {
            headers.set("content-type", "application/json");
        }
        if call.purpose != Purpose::Models {
            headers.add_context(call.context);
        }
        if call.purpose == Purpose::Turn {
            headers.add_turn(call.context);
        }
        headers.set_if("x-codex-inference-call-id", attempt_id);
        let chatgpt = authorization.is_chatgpt();
        let headers = headers.into_map();
        Outgoing {
            call,
            url: provider::url(&self.provider, call.path, chatgpt, call.query),
            secrets: {
                let mut secrets = SentSecrets::of(&headers);
                let parameters = self.provider.query_params.values();
                parameters.for_each(|value| secrets.add(value));
                secrets
            },
            headers,
        }
    }

    async fn send_with_retries(&self, outgoing: &Outgoing<'_>) -> Result<Response, Failure> {
        let policy = match outgoing.call.context.attempt {
            0 => RetryPolicy::new(self.provider.request_max_retries),
            // The layer above repeats already.
            _ => RetryPolicy::new(0),
        };
        let clock = &*self.surroundings.clock;
        let mut retry = 0;
        loop {
            let failure = match self.send(outgoing).await {
                Ok(response) => return Ok(response),
                Err(failure) => failure,
            };
            retry += 1;
            let wait = policy.wait(failure.error.retry_after(), retry, clock);
            match wait.filter(|wait| *wait <= LONGEST_SILENT_WAIT) {
                Some(wait) if is_repeated(&failure.error) => clock.sleep(wait).await,
                _ => return Err(failure),
            }
        }
    }

    async fn send(&self, outgoing: &Outgoing<'_>) -> Result<Response, Failure> {
        let client = self.surroundings.http.client(&outgoing.url);
        let client = client.map_err(|error| ModelError::Unsendable(error.to_string()))?;
        let mut request = client
            .request(outgoing.call.method.clone(), &outgoing.url)
            .headers(outgoing.headers.clone());
        if let Some(body) = &outgoing.call.body {
            request = request.body(body.clone());
        }
        let limit = self.provider.stream_idle_timeout;
        let response = match tokio::time::timeout(limit, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_builder() => {
                return Err(ModelError::Unsendable(error_text(error)).into());
            }
            Ok(Err(error)) => return Err(ModelError::disconnected(error_text(error)).into()),
            Err(_) => {
                let (what, after) = ("the model's server to reply", limit);
                return Err(ModelError::TimedOut { what, after }.into());
            }
        };
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.failure(response, &outgoing.secrets).await)
    }

    async fn failure(&self, response: Response, secrets: &SentSecrets) -> Failure {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let mut url = response.url().clone();
        remove_secrets(&mut url);
        let body = read_beginning(response, MAX_ERROR_BYTES);
        let body = tokio::time::timeout(ERROR_BODY_TIME, body).await;
        // Before it is cut, so that no part of a secret is left.
        let body = String::from_utf8_lossy(&body.unwrap_or_default()).into_owned();
        let body = secrets.redact(body);
        let reply = ErrorReply {
            status,
            headers: &headers,
            body: body.as_bytes(),
            url: url.as_str(),
            wire_api: self.provider.wire_api,
        };
        Failure {
            error: reply
                .into_error(&self.surroundings.clock.now())
                .redacted(secrets),
            request_id: request_id(&headers),
        }
    }
}

/// Does something when it is dropped.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Has a call go out; what comes of it, if that is known already.
async fn on_its_way<T>(call: impl Future<Output = T> + Unpin) -> Option<T> {
    // The connection belongs to a task of its own, which goes first now.
    let turn_of_others = pin!(tokio::task::yield_now());
    match select(call, turn_of_others).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}

/// Whether this layer repeats a call: when there was no reply, when the server failed, and when it
/// says itself for how long to stay away.
fn is_repeated(error: &ModelError) -> bool {
    match error {
        ModelError::ServerFailed { .. }
        | ModelError::ServerOverloaded
        | ModelError::Disconnected { .. }
        | ModelError::TimedOut { .. } => true,
        ModelError::UnexpectedStatus(status) => status.status >= 500,
        ModelError::TooManyRequests { retry_after, .. } => retry_after.is_some(),
        _ => false,
    }
}

/// A whole body, unless it is too large.
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

/// As much of a body as there is, up to a limit.
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
