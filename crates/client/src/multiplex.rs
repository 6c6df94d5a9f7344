//! A connection that many tasks use at once: every clone of the [`Caller`] sends requests, one task reads the
//! [`Events`] and passes replies to the waiting requests, in the order in which they came.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use codex_app_server_protocol::rpc::{ErrorObject, RequestId};
use codex_json_rpc::{LineSender, line_queue};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::client::{ClientError, Incoming, Line, Lines, Output, read, refusal};

/// Looks at a reply before anything that came after it is read.
type Note = Box<dyn FnOnce(&Value) + Send>;

struct Pending {
    note: Option<Note>,
    reply: oneshot::Sender<Result<Value, ErrorObject>>,
}

struct Shared {
    /// None once nothing more is sent.
    output: Mutex<Option<LineSender>>,
    next_id: AtomicI64,
    /// None once the server has closed the connection.
    pending: Mutex<Option<HashMap<RequestId, Pending>>>,
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, Option<HashMap<RequestId, Pending>>> {
        self.pending.lock()
    }

    async fn send(&self, message: &Value) -> Result<(), ClientError> {
        let mut line = message.to_string();
        line.push('\n');
        // A line that is queued is written whole, even if the sender is dropped.
        let output = self.output.lock().clone().ok_or(ClientError::Closed)?;
        if output.send(line).await {
            Ok(())
        } else {
            Err(ClientError::Closed)
        }
    }
}

/// Sends requests and answers; its clones are the same connection.
#[derive(Clone)]
pub struct Caller(Arc<Shared>);

impl fmt::Debug for Caller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Caller").finish_non_exhaustive()
    }
}

/// Reads the messages of the server.
pub struct Events {
    lines: Lines,
    shared: Arc<Shared>,
    unread: VecDeque<Incoming>,
}

impl fmt::Debug for Events {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Events").finish_non_exhaustive()
    }
}

pub(crate) fn split(
    lines: Lines,
    output: Output,
    next_id: i64,
    unread: VecDeque<Incoming>,
) -> (Caller, Events) {
    let (sender, queue) = line_queue();
    tokio::spawn(queue.write_to(output));
    let shared = Arc::new(Shared {
        output: Mutex::new(Some(sender)),
        next_id: AtomicI64::new(next_id),
        pending: Mutex::new(Some(HashMap::new())),
    });
    let events = Events {
        lines,
        shared: Arc::clone(&shared),
        unread,
    };
    (Caller(shared), events)
}

impl Caller {
    /// Sends a request and waits for its reply, for which somebody has to read the [`Events`].
    ///
    /// # Errors
    /// The server refuses it or goes away.
    pub async fn call(&self, method: &str, params: &impl Serialize) -> Result<Value, ClientError> {
        self.request(method, json!(params), None).await
    }

    /// The same, and shows the reply to `note` before anything that came after it is read.
    ///
    /// # Errors
    /// The server refuses it or goes away.
    pub async fn call_noting(
        &self,
        method: &str,
        params: &impl Serialize,
        note: impl FnOnce(&Value) + Send + 'static,
    ) -> Result<Value, ClientError> {
        self.request(method, json!(params), Some(Box::new(note)))
            .await
    }

    async fn request(
        &self,
        method: &str,
        params: Value,
        note: Option<Note>,
    ) -> Result<Value, ClientError> {
        let number = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let (reply, replied) = oneshot::channel();
        let id = RequestId::Integer(number);
        match self.0.pending().as_mut() {
            Some(pending) => pending.insert(id, Pending { note, reply }),
            None => return Err(ClientError::Closed),
        };
        let message = json!({ "id": number, "method": method, "params": params });
        self.0.send(&message).await?;
        let reply = replied.await.map_err(|_| ClientError::Closed)?;
        reply.map_err(|error| ClientError::Refused {
            method: method.to_owned(),
            error: Box::new(error),
        })
    }

    /// Answers a question.
    ///
    /// # Errors
    /// The server has gone away.
    pub async fn answer(&self, id: &RequestId, result: &Value) -> Result<(), ClientError> {
        self.0.send(&json!({ "id": id, "result": result })).await
    }

    /// Says that a question cannot be answered here.
    ///
    /// # Errors
    /// The server has gone away.
    pub async fn refuse(&self, id: &RequestId, method: &str) -> Result<(), ClientError> {
        self.0.send(&refusal(id, method)).await
    }

    /// Sends nothing more. The server ends, and with it the [`Events`].
    pub fn finish(&self) {
        self.0.output.lock().take();
    }
}

impl Events {
    /// The next thing that the server says by itself. Nothing is lost if this is dropped.
    ///
    /// # Errors
    /// The server goes away; all that wait for replies are given up then.
    pub async fn next(&mut self) -> Result<Incoming, ClientError> {
        if let Some(incoming) = self.unread.pop_front() {
            return Ok(incoming);
        }
        loop {
            let line = match self.lines.next().await {
                Ok(line) => line,
                Err(error) => {
                    self.shared.pending().take();
                    return Err(error);
                }
            };
            match read(String::from_utf8_lossy(&line).trim_end())? {
                Line::Reply(id, result) => self.hand_over(&id, result),
                Line::Other(incoming) => return Ok(incoming),
                Line::UnknownQuestion(id, method) => {
                    self.shared.send(&refusal(&id, &method)).await?;
                }
            }
        }
    }

    fn hand_over(&self, id: &RequestId, result: Result<Value, ErrorObject>) {
        let waiting = self
            .shared
            .pending()
            .as_mut()
            .and_then(|all| all.remove(id));
        let Some(Pending { note, reply }) = waiting else {
            return;
        };
        if let (Some(note), Ok(result)) = (note, &result) {
            note(result);
        }
        let _ = reply.send(result);
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.shared.pending().take();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    use super::*;
    use crate::Client;

    #[tokio::test]
    async fn replies_reach_those_who_wait_and_are_noted_in_their_place() {
        let (ours, theirs) = tokio::io::duplex(4096);
        let (input, output) = tokio::io::split(ours);
        let (caller, mut events) = Client::new(input, output).split();
        let noted = Arc::new(Mutex::new(Vec::new()));
        let note = Arc::clone(&noted);
        let other = caller.clone();
        let first = tokio::spawn(async move { other.call("a", &json!({})).await });
        let second = tokio::spawn(async move {
            let note = move |reply: &Value| note.lock().push(reply.clone());
            caller.call_noting("b", &json!({}), note).await
        });
        let (input, mut output) = tokio::io::split(theirs);
        let mut lines = BufReader::new(input).lines();
        for _ in 0..2 {
            lines.next_line().await.unwrap().unwrap();
        }
        let said = "{\"id\":1,\"result\":\"of b\"}\n{\"method\":\"more\"}\n{\"id\":0,\"result\":\"of a\"}\n";
        output.write_all(said.as_bytes()).await.unwrap();
        assert!(
            matches!(events.next().await.unwrap(), Incoming::Unknown(method) if method == "more")
        );
        assert_eq!(*noted.lock(), [json!("of b")]);
        drop((lines, output));
        assert!(matches!(events.next().await, Err(ClientError::Closed)));
        assert_eq!(first.await.unwrap().unwrap(), json!("of a"));
        assert_eq!(second.await.unwrap().unwrap(), json!("of b"));
    }

    #[tokio::test]
    async fn nobody_waits_for_a_server_that_went_away() {
        let (ours, theirs) = tokio::io::duplex(4096);
        let (input, output) = tokio::io::split(ours);
        let (caller, mut events) = Client::new(input, output).split();
        drop(theirs);
        assert!(events.next().await.is_err());
        assert!(matches!(
            caller.call("a", &json!({})).await,
            Err(ClientError::Closed)
        ));
    }
}
