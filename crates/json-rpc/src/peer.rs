//! The other end of the connection: what is written to it, in order, and what it is asked.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use crate::message::{self, Error, RequestId, Unreadable};

/// How many messages wait for a peer that does not read before everybody waits for it.
const WAITING: usize = 128;

/// How many are written at once.
const BATCH: usize = 64;

/// What an answer that somebody waits for is handed to.
type Pending = oneshot::Sender<Result<Box<RawValue>, Error>>;

#[derive(Debug)]
struct Shared {
    /// The notification by which the protocol takes a request back.
    cancellation: &'static str,
    lines: mpsc::Sender<String>,
    next_id: AtomicI64,
    pending: Mutex<HashMap<i64, Pending>>,
}

/// Writes to the peer; its clones are the same connection.
#[derive(Clone, Debug)]
pub struct Peer(Arc<Shared>);

/// The lines on their way to the peer.
#[derive(Debug)]
pub struct Lines(mpsc::Receiver<String>);

impl Lines {
    /// Writes them, until nobody can say anything any more or the peer is gone.
    pub async fn write_to(mut self, mut output: impl AsyncWrite + Unpin) {
        let mut batch = Vec::with_capacity(BATCH);
        while self.0.recv_many(&mut batch, BATCH).await > 0 {
            let text = batch.concat();
            batch.clear();
            let written = output.write_all(text.as_bytes()).await;
            if written.is_err() || output.flush().await.is_err() {
                return;
            }
        }
    }
}

impl Peer {
    /// A peer of a protocol that takes requests back with the notification `cancellation`. Nothing reaches it until
    /// somebody writes the lines.
    #[must_use]
    pub fn new(cancellation: &'static str) -> (Self, Lines) {
        let (lines, waiting) = mpsc::channel(WAITING);
        let shared = Shared {
            cancellation,
            lines,
            next_id: AtomicI64::new(0),
            pending: Mutex::default(),
        };
        (Self(Arc::new(shared)), Lines(waiting))
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<i64, Pending>> {
        self.0.pending.lock()
    }

    /// A peer that is gone hears nothing.
    async fn send(&self, line: String) {
        let _ = self.0.lines.send(line).await;
    }

    /// Sends without waiting for room at once, for those who cannot wait.
    fn send_soon(&self, line: String) {
        if let Err(mpsc::error::TrySendError::Full(line)) = self.0.lines.try_send(line) {
            let peer = self.clone();
            tokio::spawn(async move { peer.send(line).await });
        }
    }

    /// Says something that wants no reply.
    pub async fn notify(&self, method: &str, params: impl Serialize) {
        self.send(message::notification(method, params)).await;
    }

    /// Asks the peer and waits. Who stops waiting takes the question back.
    ///
    /// # Errors
    /// The peer refuses, is gone, or answers something else.
    pub async fn ask<T: for<'de> Deserialize<'de>>(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> Result<T, Error> {
        let number = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let line = message::request(&RequestId::Number(number), method, params);
        let (reply, replied) = oneshot::channel();
        self.pending().insert(number, reply);
        let mut question = Question {
            peer: self,
            number,
            is_open: true,
        };
        self.send(line).await;
        let reply = replied.await;
        question.is_open = false;
        let reply = reply.map_err(|_| Error::cancelled())??;
        serde_json::from_str(reply.get()).map_err(|error| Error::internal(error.to_string()))
    }

    /// Hands over an answer of the peer. One that nobody waits for any more is dropped.
    pub fn take_reply(&self, id: &RequestId, result: Result<Box<RawValue>, Error>) {
        let RequestId::Number(number) = id else {
            return;
        };
        let waiting = self.pending().remove(number);
        if let Some(waiting) = waiting {
            let _ = waiting.send(result);
        }
    }

    /// Gives up everything that was asked: nobody answers any more.
    pub fn give_up(&self) {
        self.pending().clear();
    }

    /// For the reply to a request of the peer.
    #[must_use]
    pub fn responder(&self, id: RequestId) -> Responder {
        Responder {
            peer: self.clone(),
            id: Some(id),
        }
    }

    /// Says that a line was no message.
    pub fn refuse(&self, unreadable: Unreadable) {
        let Unreadable { id, error } = unreadable;
        self.send_soon(message::reply(&id, Err::<(), _>(error)));
    }
}

/// A question that is open; dropped before the answer came, it is taken back.
struct Question<'a> {
    peer: &'a Peer,
    number: i64,
    is_open: bool,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.peer.pending().remove(&self.number);
        if self.is_open {
            let params = json!({ "requestId": self.number });
            let line = message::notification(self.peer.0.cancellation, params);
            self.peer.send_soon(line);
        }
    }
}

/// Replies to one request, once. Dropped without a reply, it sends an error.
#[derive(Debug)]
pub struct Responder {
    peer: Peer,
    id: Option<RequestId>,
}

impl Responder {
    /// Replies.
    pub async fn respond(mut self, result: Result<impl Serialize, impl Serialize>) {
        if let Some(id) = self.id.take() {
            self.peer.send(message::reply(&id, result)).await;
        }
    }

    /// The id of the request.
    #[must_use]
    pub fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let line = message::reply(&id, Err::<(), _>(Error::internal("Internal error")));
            self.peer.send_soon(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    async fn next(lines: &mut Lines) -> Value {
        serde_json::from_str(&lines.0.recv().await.unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_responder_replies_once_whatever_happens() {
        let (peer, mut lines) = Peer::new("cancel");
        let responder = peer.responder(RequestId::Number(1));
        responder.respond(Ok::<_, Error>(2)).await;
        drop(peer.responder(RequestId::Number(2)));
        drop(peer);
        assert_eq!(next(&mut lines).await["result"], 2);
        assert_eq!(next(&mut lines).await["error"]["code"], -32603);
        assert!(lines.0.recv().await.is_none());
    }

    #[tokio::test]
    async fn a_question_that_nobody_waits_for_is_taken_back() {
        let (peer, mut lines) = Peer::new("cancel");
        let asking = peer.clone();
        let asked = tokio::spawn(async move { asking.ask::<Value>("q", json!({})).await });
        assert_eq!(next(&mut lines).await["method"], "q");
        asked.abort();
        let _ = asked.await;
        let taken_back = next(&mut lines).await;
        assert_eq!(taken_back["method"], "cancel");
        assert_eq!(taken_back["params"], json!({ "requestId": 0 }));
    }

    #[tokio::test]
    async fn an_answer_reaches_who_asked() {
        let (peer, mut lines) = Peer::new("cancel");
        let asking = peer.clone();
        let asked = tokio::spawn(async move { asking.ask::<u32>("q", json!({})).await });
        next(&mut lines).await;
        let answer = serde_json::value::to_raw_value(&5).unwrap();
        peer.take_reply(&RequestId::Number(0), Ok(answer));
        assert_eq!(asked.await.unwrap().unwrap(), 5);
    }
}
