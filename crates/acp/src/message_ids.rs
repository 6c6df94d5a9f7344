//! The ids of the messages that a client sends, by which it is told from others that have the same session open.

use std::sync::atomic::{AtomicU64, Ordering};

use codex_app_server_protocol::v2::ThreadItem;

/// What all ids of this protocol begin with.
const PREFIX: &str = "acp-";

/// Numbers the clients of this process.
static NEXT_CLIENT: AtomicU64 = AtomicU64::new(0);

/// The ids of one client.
#[derive(Debug)]
pub(crate) struct MessageIds {
    own: String,
    next: AtomicU64,
}

impl MessageIds {
    pub(crate) fn new() -> Self {
        let client = NEXT_CLIENT.fetch_add(1, Ordering::Relaxed);
        Self {
            // Threads outlive processes.
            own: format!("{PREFIX}{}-{client}-", std::process::id()),
            next: AtomicU64::new(0),
        }
    }

    pub(crate) fn next(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{}{number}", self.own)
    }

    /// Whether an item is the message of another client of this protocol.
    pub(crate) fn is_of_another(&self, item: &ThreadItem) -> bool {
        let ThreadItem::UserMessage {
            client_id: Some(id),
            ..
        } = item
        else {
            return false;
        };
        id.starts_with(PREFIX) && !id.starts_with(&self.own)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_of_other_clients_are_known_by_their_ids() {
        let (own, other) = (MessageIds::new(), MessageIds::new());
        let message = |id: Option<String>| -> ThreadItem {
            let item = json!({ "type": "userMessage", "id": "m", "content": [], "clientId": id });
            serde_json::from_value(item).unwrap()
        };
        assert!(own.is_of_another(&message(Some(other.next()))));
        assert!(!own.is_of_another(&message(Some(own.next()))));
        assert!(!own.is_of_another(&message(Some("theirs".to_owned()))));
        assert!(!own.is_of_another(&message(None)));
    }
}
