//! The event stream of one response.
//!
//! There is no background task: polling the stream reads from the connection, and dropping the stream closes it.
//! Only the remaining bytes of a complete response are read by a task, so that the connection can be reused.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use codex_http::{SentSecrets, SseError, SseParser, error_text};
use futures::Stream;
use http_body::Body;
use tokio::time::{Instant, Sleep};

use crate::error::{BreakCause, ModelError};
use crate::event::ModelEvent;
use crate::limits::ResponseSize;
use crate::request::TurnState;

/// The limits on reading the rest of a complete response: time and number of frames.
const DRAIN_TIME: Duration = Duration::from_secs(1);
const DRAIN_FRAMES: usize = 64;

/// Events that were decoded and not yet returned.
pub(crate) type Events = VecDeque<ModelEvent>;

/// Whether decoding continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodeFlow {
    Continue,
    /// The response is complete; the rest is ignored.
    Done,
}

/// Decodes the events of a protocol.
pub(crate) trait DecodeEvents: Send {
    /// Decodes one event. An error ends the response.
    fn event(&mut self, data: &str, events: &mut Events) -> Result<DecodeFlow, ModelError>;

    /// Called at the end of the body.
    fn end(&mut self, events: &mut Events) -> Result<(), ModelError>;
}

/// The events of a response. The stream ends after an error or [`ModelEvent::Completed`].
pub struct ModelStream {
    events: Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>,
    request_id: Option<String>,
}

impl ModelStream {
    /// Wraps any stream of events.
    pub fn new(
        events: impl Stream<Item = Result<ModelEvent, ModelError>> + Send + 'static,
    ) -> Self {
        Self {
            events: Box::pin(events),
            request_id: None,
        }
    }

    /// Sets the server's id of the request.
    pub fn with_request_id(mut self, request_id: Option<String>) -> Self {
        self.request_id = request_id;
        self
    }

    /// The server's id of the request, if known.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }
}

impl Stream for ModelStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.as_mut().poll_next(context)
    }
}

impl fmt::Debug for ModelStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ModelStream")
            .field("request_id", &self.request_id)
            .finish_non_exhaustive()
    }
}

/// Reads a body of server-sent events.
pub(crate) struct EventReader<D> {
    /// The body, until the response is complete.
    body: Option<reqwest::Body>,
    chunk: Bytes,
    parser: SseParser,
    decoder: D,
    events: Events,
    error: Option<ModelError>,
    idle: IdleTimer,
    size: ResponseSize,
    /// The secrets to remove from errors.
    secrets: SentSecrets,
}

impl<D: DecodeEvents + Unpin> EventReader<D> {
    pub(crate) fn new(
        body: reqwest::Body,
        decoder: D,
        first: Events,
        idle_timeout: Duration,
        secrets: SentSecrets,
        turn: TurnState,
    ) -> Self {
        Self {
            body: Some(body),
            chunk: Bytes::new(),
            parser: SseParser::default(),
            decoder,
            events: first,
            error: None,
            idle: IdleTimer::new(idle_timeout),
            size: ResponseSize::of_turn(turn),
            secrets,
        }
    }

    /// Ends the response with an error, after the events that precede it.
    fn fail(&mut self, error: ModelError) {
        self.body = None;
        self.error = Some(error);
    }

    /// Ends the response.
    fn finish(&mut self, context: &mut Context<'_>) {
        if let Some(body) = self.body.take() {
            drain(body, context);
        }
    }

    /// Parses one event from the current chunk, if it contains the end of one.
    fn read_chunk(&mut self, context: &mut Context<'_>) {
        let mut rest = &self.chunk[..];
        let outcome = match self.parser.next(&mut rest) {
            None => Ok(DecodeFlow::Continue),
            Some(Ok(data)) => {
                self.idle.touch();
                let counted = self.size.add_data(data.len());
                let data = String::from_utf8_lossy(data);
                counted.and_then(|()| self.decoder.event(&data, &mut self.events))
            }
            Some(Err(SseError::EventTooLarge(limit))) => Err(ModelError::TooLarge {
                what: "event",
                limit,
                unit: "bytes",
            }),
            Some(Err(error)) => Err(ModelError::disconnected(error.to_string())),
        };
        let read = self.chunk.len() - rest.len();
        self.chunk.advance(read);
        match outcome {
            Ok(DecodeFlow::Continue) => {}
            Ok(DecodeFlow::Done) => self.finish(context),
            Err(error) => self.fail(error),
        }
    }

    /// Waits for the next chunk.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(());
        };
        match Pin::new(body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                self.chunk = frame.into_data().unwrap_or_default();
            }
            Poll::Ready(Some(Err(error))) => {
                self.fail(ModelError::disconnected(error_text(error)));
            }
            Poll::Ready(None) => {
                self.body = None;
                self.error = self.decoder.end(&mut self.events).err();
            }
            Poll::Pending => {
                ready!(self.idle.poll(context));
                self.fail(self.idle.error());
            }
        }
        Poll::Ready(())
    }
}

impl<D: DecodeEvents + Unpin> Stream for EventReader<D> {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.events.pop_front() {
                if let Err(error) = this.size.add_event(&event) {
                    this.events.clear();
                    this.fail(error);
                    continue;
                }
                return Poll::Ready(Some(Ok(event)));
            }
            if this.body.is_none() {
                let error = this.error.take();
                return Poll::Ready(error.map(|error| Err(error.redacted(&this.secrets))));
            }
            if this.chunk.is_empty() {
                ready!(this.poll_chunk(context));
            } else {
                this.read_chunk(context);
            }
        }
    }
}

/// An inactivity timeout. `touch` is free of cost, because the clock is read only when there is nothing else to do.
#[derive(Debug)]
pub(crate) struct IdleTimer {
    pub(crate) timeout: Duration,
    touched: bool,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl IdleTimer {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            touched: true,
            sleep: None,
        }
    }

    /// The error when nothing has come for too long.
    pub(crate) fn error(&self) -> ModelError {
        ModelError::TimedOut {
            what: "the next event of the stream",
            after: self.timeout,
            cause: BreakCause::CutStream,
        }
    }

    pub(crate) fn touch(&mut self) {
        self.touched = true;
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let timeout = self.timeout;
        let sleep = self
            .sleep
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        if std::mem::take(&mut self.touched) {
            let now = Instant::now();
            let deadline = now.checked_add(timeout).unwrap_or(sleep.deadline());
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut().poll(context)
    }
}

/// Reads the few bytes after a complete response, so that the connection can be reused.
fn drain(mut body: reqwest::Body, context: &mut Context<'_>) {
    // Usually the end has already arrived in the same packet.
    for _ in 0..DRAIN_FRAMES {
        match Pin::new(&mut body).poll_frame(context) {
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(_) => return,
            Poll::Pending => break,
        }
    }
    let rest = async move {
        for _ in 0..DRAIN_FRAMES {
            let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
            if !matches!(frame.await, Some(Ok(_))) {
                return;
            }
        }
    };
    tokio::spawn(async move {
        // Whether this succeeds makes no difference.
        let _ = tokio::time::timeout(DRAIN_TIME, rest).await;
    });
}
