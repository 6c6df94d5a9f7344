//! Requests of the server itself to all of its clients, of which the first answer counts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use codex_app_server_protocol::rpc::ErrorObject;
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
        self.lock().insert(id, sender);
        (id, receiver)
    }

    /// Takes an answer. Gives it back if it belongs to no request of these.
    pub(crate) fn answer(&self, id: i64, answer: Answer) -> Result<(), Answer> {
        match self.lock().remove(&id) {
            // Whoever asked may have gone.
            Some(asked) => {
                let _ = asked.send(answer);
                Ok(())
            }
            None => Err(answer),
        }
    }

    pub(crate) fn forget(&self, id: i64) {
        self.lock().remove(&id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<Answer>>> {
        // Entries are whole: a panic elsewhere leaves nothing half-done.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
