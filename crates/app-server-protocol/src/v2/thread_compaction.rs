//! What compactions of a thread dropped, and what none drops.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ThreadContextPartKind;

/// Params of `thread/compaction/read`.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCompactionReadParams {
    /// Thread that is asked about; it need not be loaded.
    pub thread_id: String,
    /// Place of the compaction among those of the thread, from 1; the last one by default.
    pub number: Option<u32>,
    /// `nextCursor` of another page; absent for the first page.
    pub cursor: Option<String>,
    /// Most items to return; 100 by default, and at most.
    pub limit: Option<u32>,
}

/// A compaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCompaction {
    /// Place among the compactions of the thread, from 1.
    pub number: u32,
    /// Turn that it was made in; null if that is not stored.
    pub turn_id: Option<String>,
    /// Summary for the model; null if the server made it, which only the server can read.
    pub summary: Option<String>,
    /// Whether the summary is longer than what is shown.
    pub is_summary_cut: bool,
    /// Estimated tokens of the history before it.
    pub tokens_before: u64,
    /// Estimated tokens of the history after it.
    pub tokens_after: u64,
    /// Number of items that it dropped.
    pub dropped_items: u32,
}

/// An item that a compaction dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadDroppedItem {
    /// Place among the dropped items, from 0.
    pub index: u32,
    /// What it was.
    pub kind: ThreadContextPartKind,
    /// Beginning of its text; empty if it has none that can be read.
    pub text: String,
    /// Whether its text is longer than what is shown.
    pub is_text_cut: bool,
    /// Estimated tokens.
    pub tokens: u64,
    /// Whether it can be brought back.
    pub is_restorable: bool,
}

/// Reply to `thread/compaction/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCompactionReadResponse {
    /// Number of compactions of the thread.
    pub count: u32,
    /// The compaction; null if the thread has none.
    pub compaction: Option<ThreadCompaction>,
    /// Items that it dropped, in their order.
    pub data: Vec<ThreadDroppedItem>,
    /// Where the next page begins; null if this is the last one.
    pub next_cursor: Option<String>,
}

/// Params of `thread/compaction/restore`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCompactionRestoreParams {
    /// Thread that it concerns; it must be loaded.
    pub thread_id: String,
    /// Place of the compaction among those of the thread, from 1.
    pub number: u32,
    /// Dropped items to bring back, by their `index`.
    pub items: Vec<u32>,
}

/// Reply to `thread/compaction/restore`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCompactionRestoreResponse {
    /// Number of items at the end of the history now; calls and outputs come together.
    pub items: u32,
    /// Their estimated tokens.
    pub tokens: u64,
}

/// A text that no compaction drops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPin {
    /// Id of the pin.
    pub id: String,
    /// The text.
    pub text: String,
    /// Item that it is the text of; null if the user wrote it.
    pub item_id: Option<String>,
}

/// Params of `thread/pin/add`.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPinAddParams {
    /// Thread that it concerns; it must be loaded.
    pub thread_id: String,
    /// Text to pin; absent for that of an item.
    pub text: Option<String>,
    /// Turn of the item whose text is pinned.
    pub turn_id: Option<String>,
    /// Item whose text is pinned.
    pub item_id: Option<String>,
}

/// Reply to `thread/pin/add`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadPinAddResponse {
    /// The pin, which may have been there before.
    pub pin: ThreadPin,
}

/// Params of `thread/pin/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPinListParams {
    /// Thread that is asked about; it must be loaded.
    pub thread_id: String,
}

/// Reply to `thread/pin/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadPinListResponse {
    /// All pins, in the order in which they were made.
    pub data: Vec<ThreadPin>,
}

/// Params of `thread/pin/remove`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPinRemoveParams {
    /// Thread that it concerns; it must be loaded.
    pub thread_id: String,
    /// Pin to take away.
    pub pin_id: String,
}

/// Reply to `thread/pin/remove`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadPinRemoveResponse {}
