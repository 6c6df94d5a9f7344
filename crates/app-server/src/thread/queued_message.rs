//! The stored form of a message of the queue.

use std::collections::BTreeMap;

use codex_app_server_protocol::v2::UserInput;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct QueuedMessage {
    pub(crate) input: Vec<UserInput>,
    pub(crate) client_user_message_id: String,
    pub(crate) responsesapi_client_metadata: Option<BTreeMap<String, String>>,
}

impl QueuedMessage {
    pub(crate) fn read(text: &str) -> Result<Self, Failure> {
        serde_json::from_str(text).map_err(unreadable)
    }

    pub(crate) fn text(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(unreadable)
    }
}

fn unreadable(error: serde_json::Error) -> Failure {
    Failure::internal(format!(
        "a queued message cannot be stored or read: {error}"
    ))
}
