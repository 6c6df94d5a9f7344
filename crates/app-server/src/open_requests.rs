//! Requests of the server to clients. The first reply of a client that was asked is used.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};

use codex_app_server_protocol::rpc::ErrorObject;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::connection::ConnectionId;

/// The reply of a client: the result as text, or an error.
pub(crate) type ClientAnswer = Result<String, ErrorObject>;

/// Requests without a reply. Callers set a time limit and then remove their request.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests {
    next_id: AtomicI64,
    waiting: Mutex<HashMap<i64, OpenRequest>>,
}

#[derive(Debug)]
struct OpenRequest {
    asked: Vec<ConnectionId>,
    reply: oneshot::Sender<ClientAnswer>,
}

impl OpenRequests {
    /// An id for a request of the server, unique in this process.
    pub(crate) fn next_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Opens a request to these clients.
    pub(crate) fn open(&self, asked: Vec<ConnectionId>) -> (i64, oneshot::Receiver<ClientAnswer>) {
        let id = self.next_id();
        let (reply, receiver) = oneshot::channel();
        self.waiting.lock().insert(id, OpenRequest { asked, reply });
        (id, receiver)
    }

    /// Takes a reply. Returns it if it belongs to no request of these that the client was sent.
    pub(crate) fn answer(
        &self,
        from: ConnectionId,
        id: i64,
        answer: ClientAnswer,
    ) -> Result<(), ClientAnswer> {
        let mut waiting = self.waiting.lock();
        let is_asked = |request: &OpenRequest| request.asked.contains(&from);
        if !waiting.get(&id).is_some_and(is_asked) {
            return Err(answer);
        }
        if let Some(request) = waiting.remove(&id) {
            // The caller may have stopped waiting.
            let _ = request.reply.send(answer);
        }
        Ok(())
    }

    pub(crate) fn forget(&self, id: i64) {
        self.waiting.lock().remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_client_that_was_asked_answers() {
        let requests = OpenRequests::default();
        let (id, mut reply) = requests.open(vec![1, 2]);
        let answer = |from, text: &str| requests.answer(from, id, Ok(text.to_owned()));
        assert_eq!(answer(3, "forged"), Err(Ok("forged".to_owned())));
        assert!(reply.try_recv().is_err());
        assert_eq!(answer(2, "given"), Ok(()));
        assert_eq!(reply.try_recv(), Ok(Ok("given".to_owned())));
        assert_eq!(answer(1, "late"), Err(Ok("late".to_owned())));
    }
}
