//! Messages that wait for the running turn to end.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::{Turn, UserInput};

/// Params of `thread/queue/add`: adds a message that waits for the running turn to end.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadQueueAddParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// The client's own id of the message; comes back as `clientId` of its item.
    pub client_user_message_id: String,
    /// Parts of the message, in order.
    pub input: Vec<UserInput>,
    /// Strings to add to the metadata of model requests; absent or null adds none.
    pub responsesapi_client_metadata: Option<BTreeMap<String, String>>,
}

/// Reply to `thread/queue/add`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadQueueAddResponse {
    /// The message.
    pub queued_submission: QueuedSubmission,
}

/// Payload of `thread/queue/changed`: the queue of a thread changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadQueueChangedNotification {
    /// Thread that it concerns.
    pub thread_id: String,
}

/// Params of `thread/queue/delete`: removes a message from the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadQueueDeleteParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Message of the queue that is meant.
    pub queued_submission_id: String,
}

/// Reply to `thread/queue/delete`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadQueueDeleteResponse {
    /// Whether there was such a message.
    pub deleted: bool,
}

/// Params of `thread/queue/list`: pages through the queue of a thread.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadQueueListParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// `nextCursor` of the page before; absent or null for the first page.
    pub cursor: Option<String>,
    /// Most entries of the page; absent or null takes the default.
    pub limit: Option<u32>,
}

/// Reply to `thread/queue/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadQueueListResponse {
    /// Entries of the page, in order.
    pub data: Vec<QueuedSubmission>,
    /// Where the next page begins; null on the last page.
    pub next_cursor: Option<String>,
}

/// Params of `thread/queue/reorder`: changes the order of the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadQueueReorderParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// All messages of the queue, in their new order.
    pub queued_submission_ids: Vec<String>,
}

/// Reply to `thread/queue/reorder`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadQueueReorderResponse {}

/// Params of `thread/queue/start`: starts a message of the queue now.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadQueueStartParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Message of the queue that is meant.
    pub queued_submission_id: Option<String>,
}

/// Reply to `thread/queue/start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadQueueStartResponse {
    /// The turn that starts.
    pub turn: Turn,
}

/// Params of `thread/queue/update`: changes a message of the queue.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadQueueUpdateParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Parts of the message, in order.
    pub input: Vec<UserInput>,
    /// Message of the queue that is meant.
    pub queued_submission_id: String,
    /// Strings to add to the metadata of model requests; absent or null adds none.
    pub responsesapi_client_metadata: Option<BTreeMap<String, String>>,
}

/// Reply to `thread/queue/update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadQueueUpdateResponse {
    /// The message.
    pub queued_submission: QueuedSubmission,
}

/// A message that waits for the running turn to end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedSubmission {
    /// Id of it.
    pub id: String,
    /// The client's own id of the message; comes back as `clientId` of its item.
    pub client_user_message_id: String,
    /// Parts of the message, in order.
    pub input: Vec<UserInput>,
    /// Strings to add to the metadata of model requests; absent or null adds none.
    pub responsesapi_client_metadata: Option<BTreeMap<String, String>>,
}
