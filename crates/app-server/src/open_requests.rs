//! Requests of the server itself to all of its clients, of which the first answer counts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};

use codex_app_server_protocol::rpc::ErrorObject;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// What a client answered: the text of its result, or its error.
pub(crate) type Answer = Result<String, ErrorObject>;

/// The requests that wait for an answer. Whoever asks sets a limit of time and then forgets the request.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests {
    next_id: AtomicI64,
    waiting: Mutex<HashMap<i64, oneshot::Sender<Answer>>>,
}

impl OpenRequests {
    /// An id for a request of the server, unique in this process.
    pub(crate) fn next_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn open(&self) -> (i64, oneshot::Receiver<Answer>) {
        let id = self.next_id();
        let (sender, receiver) = oneshot::channel();
        self.waiting.lock().insert(id, sender);
        (id, receiver)
    }

    /// Takes an answer. Gives it back if it belongs to no request of these.
    pub(crate) fn answer(&self, id: i64, answer: Answer) -> Result<(), Answer> {
        match self.waiting.lock().remove(&id) {
            // Whoever asked may have gone.
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
