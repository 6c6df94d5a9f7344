//! A connection that many tasks use at once: every clone of the [`ConnectionHandle`] sends requests, one task reads the
//! [`ServerMessages`] and passes replies to the waiting requests, in the order in which they came.

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

use crate::client::{ClientError, Output, ServerLine, ServerLines, ServerMessage, read, refusal};

/// Called with a reply before any later message is read.
type ReplyHook = Box<dyn FnOnce(&Value) + Send>;

struct PendingReply {
    note: Option<ReplyHook>,
    reply: oneshot::Sender<Result<Value, ErrorObject>>,
}

struct ConnectionState {
    /// None after `finish`.
    output: Mutex<Option<LineSender>>,
    next_id: AtomicI64,
    /// None once the server has closed the connection.
    pending: Mutex<Option<HashMap<RequestId, PendingReply>>>,
}

impl ConnectionState {
    fn pending(&self) -> MutexGuard<'_, Option<HashMap<RequestId, PendingReply>>> {
        self.pending.lock()
    }

    async fn send(&self, message: &Value) -> Result<(), ClientError> {
        let mut line = message.to_string();
        line.push('\n');
        // A line that is queued is written whole, even if the sender is dropped.
        let output = self.output.lock().clone().ok_or(ClientError::Finished)?;
        if output.send(line).await {
            Ok(())
        } else {
            Err(self.end())
        }
    }

    /// Why there are no more replies.
    fn end(&self) -> ClientError {
        if self.output.lock().is_none() {
            ClientError::Finished
        } else {
            ClientError::Closed
        }
    }
}

/// A handle for sending requests and replies. Clones share the connection.
#[derive(Clone)]
pub struct ConnectionHandle(Arc<ConnectionState>);

impl fmt::Debug for ConnectionHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ConnectionHandle")
            .finish_non_exhaustive()
    }
}

/// Reads the messages of the server.
pub struct ServerMessages {
    lines: ServerLines,
    shared: Arc<ConnectionState>,
    unread: VecDeque<ServerMessage>,
}

impl fmt::Debug for ServerMessages {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServerMessages")
            .finish_non_exhaustive()
    }
}

pub(crate) fn split(
    lines: ServerLines,
    output: Output,
    next_id: i64,
    unread: VecDeque<ServerMessage>,
) -> (ConnectionHandle, ServerMessages) {
    let (sender, queue) = line_queue();
    tokio::spawn(queue.write_to(output));
    let shared = Arc::new(ConnectionState {
        output: Mutex::new(Some(sender)),
        next_id: AtomicI64::new(next_id),
        pending: Mutex::new(Some(HashMap::new())),
    });
    let events = ServerMessages {
        lines,
        shared: Arc::clone(&shared),
        unread,
    };
    (ConnectionHandle(shared), events)
}

impl ConnectionHandle {
    /// Sends a request and waits for its reply. Some task must read the [`ServerMessages`] meanwhile.
    ///
    /// # Errors
    /// The server refuses it or goes away.
    pub async fn call(&self, method: &str, params: &impl Serialize) -> Result<Value, ClientError> {
        self.request(method, json!(params), None).await
    }

    /// Like [`call`](Self::call), and calls `hook` with the reply before any later message is read.
    ///
    /// # Errors
    /// The server refuses it or goes away.
    pub async fn call_with_hook(
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
        note: Option<ReplyHook>,
    ) -> Result<Value, ClientError> {
        let number = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let (reply, replied) = oneshot::channel();
        let id = RequestId::Integer(number);
        match self.0.pending().as_mut() {
            Some(pending) => pending.insert(id, PendingReply { note, reply }),
            None => return Err(self.0.end()),
        };
        let message = json!({ "id": number, "method": method, "params": params });
        self.0.send(&message).await?;
        let reply = replied.await.map_err(|_| self.0.end())?;
        reply.map_err(|error| ClientError::Refused {
            method: method.to_owned(),
            error: Box::new(error),
        })
    }

    /// Replies to a request.
    ///
    /// # Errors
    /// The server has gone away.
    pub async fn answer(&self, id: &RequestId, result: &Value) -> Result<(), ClientError> {
        self.0.send(&json!({ "id": id, "result": result })).await
    }

    /// Replies to a request with the error that it is not supported.
    ///
    /// # Errors
    /// The server has gone away.
    pub async fn refuse(&self, id: &RequestId, method: &str) -> Result<(), ClientError> {
        self.0.send(&refusal(id, method)).await
    }

    /// Closes the input of the server. The server ends, and with it the [`ServerMessages`].
    pub fn finish(&self) {
        self.0.output.lock().take();
    }
}

impl ServerMessages {
    /// The next message that is not a reply. Cancel safe.
    ///
    /// # Errors
    /// The server closed the connection; all waiting requests fail.
    pub async fn next(&mut self) -> Result<ServerMessage, ClientError> {
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
                ServerLine::Reply(id, result) => self.hand_over(&id, result),
                ServerLine::Other(incoming) => return Ok(incoming),
                ServerLine::UnknownRequest(id, method) => {
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
        let Some(PendingReply { note, reply }) = waiting else {
            return;
        };
        if let (Some(note), Ok(result)) = (note, &result) {
            note(result);
        }
        let _ = reply.send(result);
    }
}

impl Drop for ServerMessages {
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
    async fn replies_reach_waiting_callers_in_order() {
        let (ours, theirs) = tokio::io::duplex(4096);
        let (input, output) = tokio::io::split(ours);
        let (caller, mut events) = Client::new(input, output).split();
        let noted = Arc::new(Mutex::new(Vec::new()));
        let note = Arc::clone(&noted);
        let other = caller.clone();
        let first = tokio::spawn(async move { other.call("a", &json!({})).await });
        let second = tokio::spawn(async move {
            let note = move |reply: &Value| note.lock().push(reply.clone());
            caller.call_with_hook("b", &json!({}), note).await
        });
        let (input, mut output) = tokio::io::split(theirs);
        let mut lines = BufReader::new(input).lines();
        for _ in 0..2 {
            lines.next_line().await.unwrap().unwrap();
        }
        let said = "{\"id\":1,\"result\":\"of b\"}\n{\"method\":\"more\"}\n{\"id\":0,\"result\":\"of a\"}\n";
        output.write_all(said.as_bytes()).await.unwrap();
        assert!(
            matches!(events.next().await.unwrap(), ServerMessage::Unknown(method) if method == "more")
        );
        assert_eq!(*noted.lock(), [json!("of b")]);
        drop((lines, output));
        assert!(matches!(events.next().await, Err(ClientError::Closed)));
        assert_eq!(first.await.unwrap().unwrap(), json!("of a"));
        assert_eq!(second.await.unwrap().unwrap(), json!("of b"));
    }

    #[tokio::test]
    async fn request_of_a_disconnected_client_is_closed() {
        let (ours, theirs) = tokio::io::duplex(4096);
        let (input, output) = tokio::io::split(ours);
        let (caller, mut events) = Client::new(input, output).split();
        let other = caller.clone();
        let request = tokio::spawn(async move { other.call("a", &json!({})).await });
        let mut lines = BufReader::new(theirs).lines();
        lines.next_line().await.unwrap().unwrap();
        caller.finish();
        drop(lines);
        assert!(events.next().await.is_err());
        let failed = request.await.unwrap();
        assert!(matches!(failed, Err(ClientError::Finished)), "{failed:?}");
        let failed = caller.call("b", &json!({})).await;
        assert!(matches!(failed, Err(ClientError::Finished)), "{failed:?}");
    }

    #[tokio::test]
    async fn lost_server_ends_waiting_calls() {
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
