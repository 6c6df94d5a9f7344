//! What of a thread is unread.

use codex_app_server_protocol_macros::{Experimental, Tagged};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Payload of `thread/readState/changed`: what of a thread is unread changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadStateChangedNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// What of the thread is unread.
    pub read_state: ThreadReadState,
}

/// Params of `thread/readState/update`: marks a thread as read or unread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadStateUpdateParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Revision that the change is based on.
    pub expected_revision: String,
    /// What happened, or what is to be done.
    pub operation: ThreadReadStateOperation,
}

/// Reply to `thread/readState/update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadStateUpdateResponse {
    /// What of the thread is unread.
    pub read_state: ThreadReadState,
}

/// What of a thread is unread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadState {
    /// Where the unread part begins; null if all is read.
    pub first_unread: Option<ThreadUnreadPosition>,
    /// Changes with every change of the read state.
    pub revision: String,
}

/// Where the unread part of a thread begins.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ThreadUnreadPosition {
    /// Thread start.
    ThreadStart,
    /// Turn.
    Turn {
        /// Turn that it concerns.
        turn_id: String,
    },
}

/// How the read state changes.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ThreadReadStateOperation {
    /// Read.
    Read,
    /// Unread.
    Unread,
}
