//! The program at the other end: requests to it and from it, each with exactly one reply.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, BufReader};
use tokio::sync::{oneshot, watch};

use crate::error::Error;
use crate::input::{NextLine, next_line};
use crate::message::{self, IncomingMessage, InvalidMessage, JsonRpcId};
use crate::output::{LineQueue, LineSender, line_queue};

const READ_BUFFER: usize = 64 * 1024;

type ReplySender = oneshot::Sender<Result<Box<RawValue>, Error>>;

#[derive(Debug)]
struct PeerState {
    /// The notification by which the protocol cancels a request.
    cancellation: &'static str,
    output: LineSender,
    next_id: AtomicI64,
    /// Requests to the peer that have no reply yet.
    sent: Mutex<HashMap<i64, ReplySender>>,
    /// Requests of the peer that have no reply yet, and whether the peer has cancelled them.
    received: Mutex<HashMap<JsonRpcId, watch::Sender<bool>>>,
}

/// The program at the other end. Clones share the connection.
#[derive(Clone, Debug)]
pub struct Peer(Arc<PeerState>);

/// A message of the peer that needs handling.
#[derive(Debug)]
pub enum Incoming {
    /// A request.
    Request {
        /// Sends the reply.
        responder: Responder,
        /// The name of the method.
        method: String,
        /// The params, an empty object if there are none.
        params: Box<RawValue>,
    },
    /// A notification.
    Notification {
        /// The name of the method.
        method: String,
        /// The params, an empty object if there are none.
        params: Box<RawValue>,
    },
}

impl Peer {
    /// A peer of a protocol that cancels requests with the notification `cancellation`. Messages to it are queued
    /// until the queue is written.
    #[must_use]
    pub fn new(cancellation: &'static str) -> (Self, LineQueue) {
        let (output, queue) = line_queue();
        let state = PeerState {
            cancellation,
            output,
            next_id: AtomicI64::new(0),
            sent: Mutex::default(),
            received: Mutex::default(),
        };
        (Self(Arc::new(state)), queue)
    }

    /// Reads messages until the input ends. Requests and notifications go to `handle`, replies to those who wait for
    /// them; invalid lines, longer lines than `line_limit` and ids that are in use are refused. While the peer does
    /// not read what is written to it, nothing is read from it.
    ///
    /// # Errors
    /// The input cannot be read.
    pub async fn read(
        &self,
        input: impl AsyncRead + Unpin,
        line_limit: usize,
        mut handle: impl FnMut(Incoming),
    ) -> io::Result<()> {
        let mut input = BufReader::with_capacity(READ_BUFFER, input);
        let mut line = Vec::new();
        loop {
            self.0.output.has_room().await;
            match next_line(&mut input, line_limit, &mut line).await? {
                NextLine::End => return Ok(()),
                NextLine::TooLong => self.refuse_long_line(line_limit),
                NextLine::Line => {
                    let text = String::from_utf8_lossy(&line);
                    let text = text.trim();
                    if !text.is_empty() {
                        self.take(message::read(text))
                            .into_iter()
                            .for_each(&mut handle);
                    }
                }
            }
        }
    }

    /// Handles a message, except for what is returned.
    fn take(&self, message: Result<IncomingMessage, InvalidMessage>) -> Option<Incoming> {
        match message {
            Ok(IncomingMessage::Request { id, method, params }) => Some(Incoming::Request {
                responder: self.responder(id)?,
                method,
                params,
            }),
            Ok(IncomingMessage::Notification { method, params }) => {
                Some(Incoming::Notification { method, params })
            }
            Ok(IncomingMessage::Reply { id, result }) => {
                self.take_reply(&id, result);
                None
            }
            Err(InvalidMessage { id, error }) => {
                self.reply_later(&id, *error);
                None
            }
        }
    }

    /// For the reply to a request; none if the id is in use, which is refused.
    pub fn responder(&self, id: JsonRpcId) -> Option<Responder> {
        let cancelled = match self.0.received.lock().entry(id.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(vacant) => {
                let (cancel, cancelled) = watch::channel(false);
                vacant.insert(cancel);
                Some(cancelled)
            }
        };
        let Some(cancelled) = cancelled else {
            let message = format!("the id {id} belongs to a request that has no reply yet");
            self.reply_later(&id, Error::invalid_request(message));
            return None;
        };
        Some(Responder {
            peer: self.clone(),
            cancellation: Cancellation { id, cancelled },
            is_open: true,
        })
    }

    /// Passes a reply to the waiting request. A late one is dropped.
    fn take_reply(&self, id: &JsonRpcId, result: Result<Box<RawValue>, Error>) {
        let JsonRpcId::Number(number) = id else {
            return;
        };
        let waiting = self.0.sent.lock().remove(number);
        if let Some(waiting) = waiting {
            let _ = waiting.send(result);
        }
    }

    fn refuse_long_line(&self, limit: usize) {
        let error = Error::invalid_request("Invalid request");
        let reason = format!("the line is longer than {limit} bytes and was skipped");
        self.reply_later(&JsonRpcId::Null, error.data(reason.into()));
    }

    fn reply_later(&self, id: &JsonRpcId, error: Error) {
        let line = message::reply(id, Err::<(), _>(error));
        self.0.output.send_later(line);
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: impl Serialize) {
        let line = message::notification(method, params);
        self.0.output.send(line).await;
    }

    /// Sends a request and waits for the reply. Dropping the future cancels the request.
    ///
    /// # Errors
    /// The peer refuses, has closed the connection, or the reply has another type.
    pub async fn request<T: for<'de> Deserialize<'de>>(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> Result<T, Error> {
        let number = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let line = message::request(&JsonRpcId::Number(number), method, params);
        let (sender, reply) = oneshot::channel();
        self.0.sent.lock().insert(number, sender);
        let mut guard = SentRequest {
            peer: self,
            number,
            is_open: true,
        };
        if !self.0.output.send(line).await {
            guard.is_open = false;
            return Err(Error::cancelled());
        }
        let reply = reply.await;
        guard.is_open = false;
        let reply = reply.map_err(|_| Error::cancelled())??;
        serde_json::from_str(reply.get()).map_err(|error| Error::internal(error.to_string()))
    }

    /// Fails all requests that wait for a reply, because the peer sends no more.
    pub fn fail_requests(&self) {
        self.0.sent.lock().clear();
    }

    /// Marks a request of the peer as cancelled, if it has no reply yet.
    pub fn cancel(&self, id: &JsonRpcId) {
        if let Some(request) = self.0.received.lock().get(id) {
            request.send_replace(true);
        }
    }
}

/// A request to the peer. Dropped before the reply came, it is cancelled.
struct SentRequest<'a> {
    peer: &'a Peer,
    number: i64,
    is_open: bool,
}

impl Drop for SentRequest<'_> {
    fn drop(&mut self) {
        self.peer.0.sent.lock().remove(&self.number);
        if self.is_open {
            let params = json!({ "requestId": self.number });
            let line = message::notification(self.peer.0.cancellation, params);
            self.peer.0.output.send_later(line);
        }
    }
}

/// Whether the peer has cancelled one of its requests.
#[derive(Clone, Debug)]
pub struct Cancellation {
    id: JsonRpcId,
    cancelled: watch::Receiver<bool>,
}

impl Cancellation {
    /// The id of the request.
    #[must_use]
    pub fn id(&self) -> &JsonRpcId {
        &self.id
    }

    /// Waits until the peer cancels the request; for ever if it never does.
    pub async fn requested(&mut self) {
        if self
            .cancelled
            .wait_for(|cancelled| *cancelled)
            .await
            .is_err()
        {
            std::future::pending().await
        }
    }
}

/// Replies to one request, once. Dropped without a reply, it sends an error.
#[derive(Debug)]
pub struct Responder {
    peer: Peer,
    cancellation: Cancellation,
    is_open: bool,
}

impl Responder {
    /// Sends the reply.
    pub async fn respond(mut self, result: Result<impl Serialize, impl Serialize>) {
        self.close();
        let line = message::reply(self.id(), result);
        self.peer.0.output.send(line).await;
    }

    /// Sends the reply and waits until it is written. False if the connection is closed.
    pub async fn respond_and_flush(
        mut self,
        result: Result<impl Serialize, impl Serialize>,
    ) -> bool {
        self.close();
        let line = message::reply(self.id(), result);
        self.peer.0.output.send_and_flush(line).await
    }

    /// The id of the request.
    #[must_use]
    pub fn id(&self) -> &JsonRpcId {
        &self.cancellation.id
    }

    /// Whether the peer has cancelled the request.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.cancellation.cancelled.borrow()
    }

    /// To watch for a cancellation.
    #[must_use]
    pub fn cancellation(&self) -> Cancellation {
        self.cancellation.clone()
    }

    fn close(&mut self) {
        self.is_open = false;
        self.peer.0.received.lock().remove(self.id());
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if self.is_open {
            self.close();
            self.peer
                .reply_later(self.id(), Error::internal("Internal error"));
        }
    }
}

#[cfg(test)]
#[path = "peer_tests.rs"]
mod tests;
