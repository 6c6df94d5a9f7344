//! Reads the response to a request on a websocket.
//!
//! When the response is complete, the connection goes back to its thread. After a failure, or when the reader is dropped
//! before, it is closed, because the rest of the response would be taken for that of another request.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use codex_http::{SocketError, SocketMessage, SocketText};
use futures::Stream;

use super::FailedSend;
use super::connection::SocketConnection;
use super::idle::IdleConnection;
use super::message::{LastResponse, SocketRequest};
use crate::error::{BreakCause, ModelError};
use crate::event::ModelEvent;
use crate::limits::ResponseSize;
use crate::prompt::Prompt;
use crate::request::ModelRequest;
use crate::responses::{ResponsesDecoder, SocketFrames};
use crate::stream::{DecodeEvents, DecodeFlow, Events, IdleTimer};
use crate::thread_connection::ThreadConnection;

#[derive(Debug)]
pub(super) struct SocketReader {
    /// None once the response has ended.
    connection: Option<SocketConnection>,
    message: SocketRequest,
    /// The input, and the items of the response so far.
    conversation: Prompt,
    thread: ThreadConnection,
    /// What the handshake said, if the next request is to report it.
    facts_for_next: Events,
    decoder: ResponsesDecoder,
    events: Events,
    error: Option<ModelError>,
    /// Whether the connection failed, and not the response.
    connection_lost: bool,
    idle: IdleTimer,
    size: ResponseSize,
}

impl SocketReader {
    pub(super) fn new(
        connection: SocketConnection,
        facts: Events,
        frames: SocketFrames,
        message: SocketRequest,
        request: &ModelRequest,
        thread: ThreadConnection,
    ) -> Self {
        let server_model = connection.server_model.clone();
        Self {
            decoder: ResponsesDecoder::on_socket(server_model, frames),
            connection: Some(connection),
            message,
            conversation: request.input.clone(),
            thread,
            facts_for_next: Events::new(),
            events: facts,
            error: None,
            connection_lost: false,
            idle: IdleTimer::new(Duration::MAX),
            size: ResponseSize::of_turn(request.context.turn_state.clone()),
        }
    }

    pub(super) fn with_idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle = IdleTimer::new(timeout);
        self
    }

    /// Sends the request and waits for the first message of the response.
    pub(super) async fn begin(&mut self, send_timeout: Duration) -> Result<(), FailedSend> {
        let sent = match &mut self.connection {
            Some(connection) => send(connection, &self.message, send_timeout).await,
            None => Ok(()),
        };
        if let Err(error) = sent {
            self.lose(error);
        }
        poll_fn(|context| self.poll_begin(context)).await;
        match self.error.take() {
            None => Ok(()),
            Some(error) => Err(FailedSend {
                error: self.redacted(error),
                connection_lost: self.connection_lost,
            }),
        }
    }

    fn poll_begin(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.connection.is_some() && self.error.is_none() {
            if ready!(self.poll_message(context)) {
                break;
            }
        }
        Poll::Ready(())
    }

    /// The connection, if the server has refused the request and may get another one.
    pub(super) fn into_connection(self) -> Option<SocketConnection> {
        self.connection.filter(|_| !self.connection_lost)
    }

    /// Leaves what the handshake said to the next request.
    pub(super) fn keep_facts(&mut self) {
        self.facts_for_next = std::mem::take(&mut self.events);
    }

    fn lose(&mut self, error: ModelError) {
        self.connection_lost = true;
        self.error = Some(error);
    }

    fn redacted(&self, error: ModelError) -> ModelError {
        match &self.connection {
            Some(connection) => error.redacted(&connection.secrets),
            None => error,
        }
    }

    /// Reads the next message. Returns whether it belongs to the response.
    fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        let Some(connection) = &mut self.connection else {
            return Poll::Ready(true);
        };
        match connection.socket.poll_next(context) {
            Poll::Ready(Ok(SocketMessage::Text(text))) => {
                self.idle.touch();
                return Poll::Ready(self.take(&text));
            }
            Poll::Ready(Ok(SocketMessage::Control)) => return Poll::Ready(false),
            Poll::Ready(Ok(SocketMessage::Binary)) => {
                let error = ModelError::disconnected("unexpected binary websocket event");
                self.error = Some(error);
            }
            Poll::Ready(Ok(SocketMessage::Closed)) => {
                let text = "websocket closed by server before response.completed";
                self.lose(ModelError::disconnected(text));
            }
            Poll::Ready(Err(SocketError::TooLarge(limit))) => {
                let (what, unit) = ("event", "bytes");
                self.error = Some(ModelError::TooLarge { what, limit, unit });
            }
            Poll::Ready(Err(SocketError::Lost(text))) => {
                self.lose(ModelError::disconnected(text));
            }
            Poll::Pending => {
                ready!(self.idle.poll(context));
                self.error = Some(self.idle.error());
            }
        }
        Poll::Ready(true)
    }

    /// Takes the text of a message. Returns whether it belongs to the response.
    fn take(&mut self, text: &str) -> bool {
        let known = self.events.len();
        let counted = self.size.add_data(text.len());
        let decoded = counted.and_then(|()| self.decoder.event(text, &mut self.events));
        let mut is_about_account = self.events.len() > known;
        for event in self.events.iter().skip(known) {
            if let ModelEvent::ItemDone(item) = event {
                self.conversation.push(item);
            }
            is_about_account &= matches!(event, ModelEvent::RateLimits(_));
        }
        match decoded {
            Ok(DecodeFlow::Continue) => {}
            Ok(DecodeFlow::Done) => self.complete(),
            Err(error) => self.error = Some(error),
        }
        !is_about_account
    }

    /// Returns the connection to the thread.
    fn complete(&mut self) {
        let (Some(mut connection), Some(ModelEvent::Completed(completion))) =
            (self.connection.take(), self.events.back())
        else {
            return;
        };
        connection.facts = std::mem::take(&mut self.facts_for_next);
        connection.server_model = self.decoder.server_model().map(str::to_owned);
        if !completion.response_id.is_empty() {
            connection.last = Some(LastResponse {
                id: completion.response_id.clone(),
                fields: self.message.fields.clone(),
                conversation: std::mem::take(&mut self.conversation),
                is_warming: self.message.is_warming,
            });
        }
        self.thread.keep(IdleConnection::new(connection));
    }
}

async fn send(
    connection: &mut SocketConnection,
    message: &SocketRequest,
    timeout: Duration,
) -> Result<(), ModelError> {
    let text = SocketText::try_from(message.text.clone());
    let text = text.map_err(|error| ModelError::Unsendable(error.to_string()))?;
    match tokio::time::timeout(timeout, connection.socket.send(text)).await {
        Ok(sent) => sent.map_err(|error| ModelError::disconnected(error.to_string())),
        Err(_) => Err(ModelError::TimedOut {
            what: "the model's server to read the request",
            after: timeout,
            cause: BreakCause::NoConnection,
        }),
    }
}

impl Stream for SocketReader {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.events.pop_front() {
                if let Err(error) = this.size.add_event(&event) {
                    this.events.clear();
                    this.error = Some(error);
                    continue;
                }
                return Poll::Ready(Some(Ok(event)));
            }
            if let Some(error) = this.error.take() {
                let error = this.redacted(error);
                this.connection = None;
                return Poll::Ready(Some(Err(error)));
            }
            if this.connection.is_none() {
                return Poll::Ready(None);
            }
            ready!(this.poll_message(context));
        }
    }
}
