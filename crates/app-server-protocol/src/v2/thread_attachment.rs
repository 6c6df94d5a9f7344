//! Records that clients keep on threads.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Params of `thread/attachment/add`: adds a record of the client to a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadAttachmentAddParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Kind of attachment, in the words of the client.
    pub attachment_type: String,
    /// What the attachment stands for; unique for its kind within a thread.
    pub identity_key: String,
    /// Value of the client, passed on as it is.
    pub payload: Value,
}

/// Reply to `thread/attachment/add`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadAttachmentAddResponse {
    /// The attachment.
    pub attachment: ThreadAttachment,
    /// What came of it.
    pub outcome: ThreadAttachmentAddOutcome,
}

/// Params of `thread/attachment/list`: lists the records on a thread.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadAttachmentListParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// `nextCursor` of the page before; absent or null for the first page.
    pub cursor: Option<String>,
    /// Most entries of the page; absent or null takes the default.
    pub limit: Option<u32>,
}

/// Reply to `thread/attachment/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadAttachmentListResponse {
    /// Entries of the page, in order.
    pub data: Vec<ThreadAttachment>,
    /// Where the next page begins; null on the last page.
    pub next_cursor: Option<String>,
}

/// Params of `thread/attachment/remove`: removes a record from a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadAttachmentRemoveParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Kind of attachment, in the words of the client.
    pub attachment_type: String,
    /// What the attachment stands for; unique for its kind within a thread.
    pub identity_key: String,
}

/// Reply to `thread/attachment/remove`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadAttachmentRemoveResponse {}

/// Payload of `thread/attachment/updated`: a record on a thread was added or removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadAttachmentUpdatedNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Id of the attachment.
    pub attachment_id: String,
    /// Kind of attachment, in the words of the client.
    pub attachment_type: String,
    /// What the attachment stands for; unique for its kind within a thread.
    pub identity_key: String,
    /// What happened, or what is to be done.
    pub operation: ThreadAttachmentOperation,
}

/// Params of `thread/attachmentOwner/list`: lists the threads with a record.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadAttachmentOwnerListParams {
    /// Whether archived threads are meant.
    pub archived: Option<bool>,
    /// Kind of attachment, in the words of the client.
    pub attachment_type: String,
    /// `nextCursor` of the page before; absent or null for the first page.
    pub cursor: Option<String>,
    /// What the attachment stands for; unique for its kind within a thread.
    pub identity_key: String,
    /// Most entries of the page; absent or null takes the default.
    pub limit: Option<u32>,
}

/// Reply to `thread/attachmentOwner/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadAttachmentOwnerListResponse {
    /// Entries of the page, in order.
    pub data: Vec<ThreadAttachmentOwner>,
    /// Where the next page begins; null on the last page.
    pub next_cursor: Option<String>,
}

/// Whether the attachment is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadAttachmentAddOutcome {
    /// Created.
    Created,
    /// Existing.
    Existing,
}

/// A record that a client keeps on a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadAttachment {
    /// Id of it.
    pub id: String,
    /// Kind of attachment, in the words of the client.
    pub attachment_type: String,
    /// When it was created, in Unix seconds.
    pub created_at: i64,
    /// What the attachment stands for; unique for its kind within a thread.
    pub identity_key: String,
    /// Value of the client, passed on as it is.
    pub payload: Value,
}

/// What happened to an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadAttachmentOperation {
    /// Created.
    Created,
    /// Deleted.
    Deleted,
}

/// A thread with an attachment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadAttachmentOwner {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Whether archived threads are meant.
    pub archived: bool,
}
