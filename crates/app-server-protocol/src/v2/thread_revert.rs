//! Taking turns out of a thread's history.

use codex_app_server_protocol_macros::Experimental;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::Thread;

/// Params of `thread/revert`: takes a turn and all after it out of a thread's history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRevertParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// First turn that leaves the history.
    pub before_turn_id: String,
}

/// Reply to `thread/revert`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRevertResponse {
    /// Cursor of the newest item, for `thread/items/list`; null if there is none.
    pub items_backwards_cursor: Option<String>,
    /// The thread.
    pub thread: Thread,
    /// Cursor of the newest turn, for `thread/turns/list`; null if there is none.
    pub turns_backwards_cursor: Option<String>,
}

/// Payload of `thread/reverted`: turns were taken out of a thread's history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRevertedNotification {
    /// Thread that it concerns.
    pub thread_id: String,
}
