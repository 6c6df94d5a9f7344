//! The items of a thread without their turns: pages of them, and items that a client puts in.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::v2::{SortDirection, TimedItem};

/// Params of `thread/items/list`: a page of the items of a thread, loaded or stored.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsListParams {
    /// Thread whose items are listed.
    pub thread_id: String,
    /// Only those of this turn.
    pub turn_id: Option<String>,
    /// `nextCursor` or `backwardsCursor` of another page, or an item to begin after; absent for the first
    /// page.
    pub cursor: Option<ThreadItemsCursor>,
    /// Most items to return, clamped to 1 through 100; 25 by default.
    pub limit: Option<u32>,
    /// Which way to go; from the oldest item on by default.
    pub sort_direction: Option<SortDirection>,
    /// Of which items of one turn the output is left out.
    pub defer_output: Option<ThreadItemsDeferOutput>,
}

/// Where a page of items begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ThreadItemsCursor {
    /// A cursor of another page.
    Page(String),
    /// After an item of the turn, or before it when going back.
    Item(ThreadItemAnchor),
}

/// An item as the place where a page begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ThreadItemAnchor {
    /// By its id.
    Item {
        /// Id of the item.
        item_id: String,
    },
}

/// Of which items the output is left out, if they ended well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadItemsDeferOutput {
    /// Commands.
    pub command_execution: bool,
    /// Calls of MCP tools.
    pub mcp_tool_call: bool,
}

/// Reply to `thread/items/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsListResponse {
    /// The items of the page, in the order asked for.
    pub data: Vec<ThreadItemEntry>,
    /// Where the next page begins; null if this is the last one.
    pub next_cursor: Option<String>,
    /// Where to begin, this page's first item included, when going the other way; null if the page is
    /// empty.
    pub backwards_cursor: Option<String>,
}

/// Params of `thread/turns/items/list`: a page of the items of a turn. Later clients use `thread/items/list`.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsItemsListParams {
    /// Thread of the turn.
    pub thread_id: String,
    /// Turn whose items are listed.
    pub turn_id: String,
    /// `nextCursor` or `backwardsCursor` of another page; absent for the first page.
    pub cursor: Option<String>,
    /// Most items to return, clamped to 1 through 100; 25 by default.
    pub limit: Option<u32>,
    /// Which way to go; from the oldest item on by default.
    pub sort_direction: Option<SortDirection>,
}

/// Reply to `thread/turns/items/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsItemsListResponse {
    /// The items of the page, in the order asked for.
    pub data: Vec<TimedItem>,
    /// Where the next page begins; null if this is the last one.
    pub next_cursor: Option<String>,
    /// Where to begin, this page's first item included, when going the other way; null if the page is
    /// empty.
    pub backwards_cursor: Option<String>,
}

/// An item, and the turn that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemEntry {
    /// The turn.
    pub turn_id: String,
    /// The item.
    pub item: TimedItem,
    /// When it began, in Unix milliseconds; null if that is not known.
    #[serde(default)]
    pub started_at_ms: Option<i64>,
    /// When it ended, in Unix milliseconds; null before that.
    #[serde(default)]
    pub completed_at_ms: Option<i64>,
    /// Whether its output was left out, as `deferOutput` asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub output_deferred: bool,
}

/// Params of `thread/inject_items`: put items into what the model sees, without a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadInjectItemsParams {
    /// Loaded thread that takes them; a turn that runs takes them before its next request.
    pub thread_id: String,
    /// Items of the Responses API, at least one.
    pub items: Vec<Value>,
}

/// Reply to `thread/inject_items`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadInjectItemsResponse {}
