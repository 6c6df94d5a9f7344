//! When a client knows a session that was opened: then it gets the updates that came before.
//!
//! Clients register a session with the reply that opens it, and drop updates of sessions that they do not know yet,
//! also if those come in the same read as the reply. So the updates of a new session are held until the client has sent
//! a request about it, or some time has passed since the reply was written. Nothing waits for that but the updates.

use std::time::Duration;

use agent_client_protocol_schema::v1::SessionUpdate;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The time after which a client has read a reply that was written.
const READING_TIME: Duration = Duration::from_millis(75);

/// More updates are not held; then all are sent.
const MOST_HELD: usize = 256;

#[derive(Debug)]
pub(crate) struct UpdateGate {
    /// The updates for later; none once the gate is open.
    held: Mutex<Option<Vec<SessionUpdate>>>,
    is_open: watch::Sender<bool>,
    /// Changes with each request of the client about the session.
    requests: watch::Sender<()>,
}

impl UpdateGate {
    /// The gate of a session that its client does not know yet.
    pub(crate) fn closed() -> Self {
        Self {
            held: Mutex::new(Some(Vec::new())),
            is_open: watch::Sender::new(false),
            requests: watch::Sender::new(()),
        }
    }

    /// Holds an update, or returns what is to be sent now.
    pub(crate) fn pass(&self, update: SessionUpdate) -> Vec<SessionUpdate> {
        let mut held = self.held.lock();
        let Some(updates) = held.as_mut() else {
            return vec![update];
        };
        updates.push(update);
        if updates.len() <= MOST_HELD {
            return Vec::new();
        }
        let updates = held.take().unwrap_or_default();
        self.is_open.send_replace(true);
        updates
    }

    /// The updates that are still held. If there are none, the gate opens.
    pub(crate) fn next_held(&self) -> Option<Vec<SessionUpdate>> {
        let mut held = self.held.lock();
        let updates = held.as_mut().map(std::mem::take).unwrap_or_default();
        if !updates.is_empty() {
            return Some(updates);
        }
        *held = None;
        self.is_open.send_replace(true);
        None
    }

    /// Opens the gate and drops what is held, because the session is closed.
    pub(crate) fn discard(&self) {
        *self.held.lock() = None;
        self.is_open.send_replace(true);
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.is_open.borrow()
    }

    /// Waits until everything that was held is sent.
    pub(crate) async fn opened(&self) {
        // The sender lives as long as `self`.
        let _ = self.is_open.subscribe().wait_for(|is_open| *is_open).await;
    }

    /// Waits until the client has surely read a reply that was just written.
    pub(crate) async fn reply_read(&self) {
        let mut requests = self.requests.subscribe();
        // Either is enough.
        let _ = tokio::time::timeout(READING_TIME, requests.changed()).await;
    }

    /// Whether somebody waits for a request about the session.
    pub(crate) fn awaits_request(&self) -> bool {
        self.requests.receiver_count() > 0
    }

    /// The client has sent a request about the session.
    pub(crate) fn requested(&self) {
        self.requests.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::messages::message_chunk;

    fn texts(updates: &[SessionUpdate]) -> Vec<String> {
        let text =
            |update: &SessionUpdate| serde_json::json!(update)["content"]["text"].to_string();
        updates.iter().map(text).collect()
    }

    #[test]
    fn updates_are_held_in_order_until_the_gate_opens() {
        let gate = UpdateGate::closed();
        for text in ["1", "2"] {
            assert!(gate.pass(message_chunk(text, None)).is_empty());
        }
        assert!(!gate.is_open());
        let held = gate.next_held().unwrap();
        assert_eq!(texts(&held), ["\"1\"", "\"2\""]);
        assert!(
            gate.pass(message_chunk("3", None)).is_empty(),
            "the rest is being sent"
        );
        assert_eq!(texts(&gate.next_held().unwrap()), ["\"3\""]);
        assert!(gate.next_held().is_none() && gate.is_open());
        assert_eq!(gate.pass(message_chunk("4", None)).len(), 1);
    }

    #[test]
    fn more_than_can_be_held_is_sent() {
        let gate = UpdateGate::closed();
        for _ in 0..MOST_HELD {
            assert!(gate.pass(message_chunk("x", None)).is_empty());
        }
        assert_eq!(gate.pass(message_chunk("y", None)).len(), MOST_HELD + 1);
        assert!(gate.is_open());
    }

    #[test]
    fn updates_of_a_closed_session_are_dropped() {
        let gate = UpdateGate::closed();
        gate.pass(message_chunk("x", None));
        gate.discard();
        assert!(gate.next_held().is_none() && gate.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn reply_counts_as_read_after_delay_or_request() {
        let gate = Arc::new(UpdateGate::closed());
        let start = tokio::time::Instant::now();
        gate.reply_read().await;
        assert_eq!(start.elapsed().as_millis(), READING_TIME.as_millis());
        // A request before the reply says nothing.
        gate.requested();
        let start = tokio::time::Instant::now();
        let waiting = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.reply_read().await }
        });
        while !gate.awaits_request() {
            tokio::task::yield_now().await;
        }
        gate.requested();
        waiting.await.unwrap();
        assert!(start.elapsed().is_zero());
    }
}
