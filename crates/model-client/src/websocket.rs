//! The Responses API over a websocket.
//!
//! A thread keeps one connection over its turns ([`ThreadConnection`]). A request on it sends only what is new, if the
//! server still has the response before it ([`message`]), and its events are read as those of an HTTP response
//! ([`reader`]). What fails before the server has begun to answer is sent again here, without the caller noticing, where
//! the old connection is to blame; all other failures are those of the caller, who repeats the request and falls back to
//! HTTP in the end.

mod connection;
mod idle;
mod message;
mod reader;

use std::sync::Arc;

use codex_http::{HandshakeKey, WebSocket};
use codex_protocol::WireApi;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use reqwest::Method;

use self::connection::SocketConnection;
use self::idle::IdleConnection;
use self::message::SocketRequest;
use self::reader::SocketReader;
use crate::attempt_recorder::AttemptRecorder;
use crate::credential::Authorization;
use crate::error::{BreakCause, ModelError};
use crate::event::ModelEvent;
use crate::exchange::{CallPurpose, EndpointCall, SuccessReply};
use crate::headers::{reply_events, server_model};
use crate::http_client::{HttpModelClient, MAX_REPLY_BYTES, unencodable};
use crate::prompt::Prompt;
use crate::provider;
use crate::request::ModelRequest;
use crate::responses::SocketFrames;
use crate::stream::ModelStream;
use crate::thread_connection::ThreadConnection;

/// Whether a handshake was refused because the server has no websocket. 426 says so, but servers that only know `POST`
/// refuse the handshake in ways of their own. Whatever else may be wrong, the request over HTTP tells it.
fn has_no_websocket(refusal: &ModelError) -> bool {
    match refusal.http_status() {
        Some(401 | 429) => false,
        Some(status) => (400..500).contains(&status),
        None => matches!(
            refusal,
            ModelError::InvalidRequest(_) | ModelError::UnknownModel(_)
        ),
    }
}

impl HttpModelClient {
    /// The websocket for a request; none if it has to be sent over HTTP.
    pub(crate) fn socket_of<'a>(&self, request: &'a ModelRequest) -> Option<&'a ThreadConnection> {
        let thread = request.context.connection.as_ref()?;
        (self.has_websockets() && !thread.has_fallen_back()).then_some(thread)
    }

    fn has_websockets(&self) -> bool {
        self.provider.supports_websockets && self.provider.wire_api == WireApi::Responses
    }

    /// Sends a request over the websocket of its thread. Returns none if the server has no websocket.
    pub(crate) async fn stream_on_socket(
        &self,
        request: &ModelRequest,
        thread: &ThreadConnection,
    ) -> Result<Option<ModelStream>, ModelError> {
        thread.warmed().await;
        thread.set_used();
        let authorization = self.authorization().await?;
        let kept = thread.take::<IdleConnection>();
        if let Some(kept) = kept.and_then(|kept| kept.take(&authorization)) {
            match self.send_on(kept, request, thread).await {
                Ok(stream) => return Ok(Some(stream)),
                Err(failed) if failed.connection_lost => {
                    tracing::debug!(error = %failed.error, "the kept websocket is dead");
                }
                Err(failed) => return Err(failed.error),
            }
        }
        let opened = match self.open_socket(request, authorization).await {
            Ok(opened) => opened,
            Err(error) if has_no_websocket(&error) => {
                thread.fall_back();
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let stream = self.send_on(opened, request, thread).await;
        stream.map(Some).map_err(|failed| failed.error)
    }

    async fn open_socket(
        &self,
        request: &ModelRequest,
        authorization: Authorization,
    ) -> Result<SocketConnection, ModelError> {
        let key = HandshakeKey::new();
        let limit = self.provider.websocket_connect_timeout;
        let opening = async {
            let call = EndpointCall {
                method: Method::GET,
                path: "responses",
                query: &[],
                body: None,
                shown: None,
                context: &request.context,
                purpose: CallPurpose::WebSocket(key.clone()),
            };
            let SuccessReply { response, secrets } = self.exchange(&call).await?;
            let headers = response.headers().clone();
            let socket = WebSocket::connect(response, &key, MAX_REPLY_BYTES).await;
            let socket = socket
                .map_err(|error| ModelError::not_connected(error.to_string()).redacted(&secrets))?;
            Ok(SocketConnection {
                socket,
                authorization,
                secrets,
                server_model: server_model(&headers),
                facts: reply_events(&headers, &request.context),
                last: None,
            })
        };
        let opened = tokio::time::timeout(limit, opening).await;
        opened.unwrap_or(Err(ModelError::TimedOut {
            what: "the websocket of the model's server",
            after: limit,
            cause: BreakCause::NoConnection,
        }))
    }

    /// Sends a request and waits until the server begins to answer.
    async fn send_on(
        &self,
        mut connection: SocketConnection,
        request: &ModelRequest,
        thread: &ThreadConnection,
    ) -> Result<ModelStream, FailedSend> {
        loop {
            let message = SocketRequest::new(request, &self.provider, connection.last.take());
            let message = message.map_err(unencodable).map_err(FailedSend::other)?;
            let observer = request.context.observer.as_ref();
            let mut recorder = observer.map(|observer| {
                // The id is not sent, because the messages have no headers.
                observer.name();
                observer.started(&self.provider, &message.shown);
                AttemptRecorder::new(Arc::clone(observer), None)
            });
            let is_incremental = message.is_incremental;
            let mut reader = self.reader(connection, message, request, thread);
            match reader.begin(self.provider.stream_idle_timeout).await {
                Ok(()) => {
                    return Ok(match recorder {
                        None => ModelStream::new(reader),
                        Some(mut recorder) => {
                            ModelStream::new(reader.inspect(move |event| recorder.record(event)))
                        }
                    });
                }
                Err(failed) => {
                    if let Some(recorder) = &mut recorder {
                        recorder.fail(&failed.error);
                    }
                    let forgotten = failed.error == ModelError::PreviousResponseNotFound;
                    match reader.into_connection() {
                        // Sent as a whole on the same connection.
                        Some(kept) if forgotten && is_incremental => connection = kept,
                        _ => return Err(failed),
                    }
                }
            }
        }
    }

    fn reader(
        &self,
        mut connection: SocketConnection,
        message: SocketRequest,
        request: &ModelRequest,
        thread: &ThreadConnection,
    ) -> SocketReader {
        let chatgpt = connection.authorization.is_chatgpt();
        let frames = SocketFrames {
            clock: Arc::clone(&self.dependencies.clock),
            url: provider::url(&self.provider, "responses", chatgpt, &[]),
        };
        let facts = std::mem::take(&mut connection.facts);
        SocketReader::new(connection, facts, frames, message, request, thread.clone())
            .with_idle_timeout(self.provider.stream_idle_timeout)
    }

    /// Connects and sends everything but the input, so that the server is ready for the first request.
    pub(crate) fn prewarm_socket(
        &self,
        mut request: ModelRequest,
    ) -> Option<BoxFuture<'static, ()>> {
        let thread = self.socket_of(&request)?.clone();
        let done = thread.begin_warming();
        request.input = Prompt::default();
        request.context.observer = None;
        let client = self.clone();
        let limit = self.provider.websocket_connect_timeout;
        let warming = async move {
            if let Err(error) = client.warm(&request, &thread).await {
                tracing::debug!(%error, "the websocket is not prepared");
            }
        };
        Some(
            async move {
                let _ = tokio::time::timeout(limit, warming).await;
                drop(done);
            }
            .boxed(),
        )
    }

    async fn warm(
        &self,
        request: &ModelRequest,
        thread: &ThreadConnection,
    ) -> Result<(), ModelError> {
        let authorization = self.authorization().await?;
        let connection = match self.open_socket(request, authorization).await {
            Ok(connection) => connection,
            Err(error) => {
                if has_no_websocket(&error) {
                    thread.fall_back();
                }
                return Err(error);
            }
        };
        let message = SocketRequest::warming(request, &self.provider).map_err(unencodable)?;
        let mut reader = self.reader(connection, message, request, thread);
        reader.keep_facts();
        let begun = reader.begin(self.provider.stream_idle_timeout).await;
        begun.map_err(|failed| failed.error)?;
        while let Some(event) = reader.next().await {
            if let ModelEvent::Completed(_) = event? {
                break;
            }
        }
        Ok(())
    }
}

/// A request that failed before the server has begun to answer.
#[derive(Debug)]
pub(crate) struct FailedSend {
    error: ModelError,
    /// Whether the connection failed, and not the request.
    connection_lost: bool,
}

impl FailedSend {
    fn other(error: ModelError) -> Self {
        Self {
            error,
            connection_lost: false,
        }
    }
}
