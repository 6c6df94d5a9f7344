//! Requests of the server to all clients. The first reply is used.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};

use codex_app_server_protocol::rpc::ErrorObject;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The reply of a client: the result as text, or an error.
pub(crate) type ClientAnswer = Result<String, ErrorObject>;

/// Requests without a reply. Callers set a time limit and then remove their request.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests {
    next_id: AtomicI64,
    waiting: Mutex<HashMap<i64, oneshot::Sender<ClientAnswer>>>,
}

impl OpenRequests {
    /// An id for a request of the server, unique in this process.
    pub(crate) fn next_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn open(&self) -> (i64, oneshot::Receiver<ClientAnswer>) {
        let id = self.next_id();
        let (sender, receiver) = oneshot::channel();
        self.waiting.lock().insert(id, sender);
        (id, receiver)
    }

    /// Takes a reply. Returns it if it belongs to no request of these.
    pub(crate) fn answer(&self, id: i64, answer: ClientAnswer) -> Result<(), ClientAnswer> {
        match self.waiting.lock().remove(&id) {
            // The caller may have stopped waiting.
            Some(asked) => {
                let _ = asked.send(answer);
                Ok(())
            }
            None => Err(answer),
        }
    }

    pub(crate) fn forget(&self, id: i64) {
        self.waiting.lock().remove(&id);
    }
}
