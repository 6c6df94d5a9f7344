//! The items of a thread without their turns: pages of them, and items that a client puts in.

use codex_app_server_protocol_macros::Experimental;
use codex_app_server_protocol_macros::sparse;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::v2::SortDirection;
use crate::v2::TimedItem;

/// Params of `thread/items/list`: a page of the items of a thread, loaded or stored.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsListParams {
    /// Thread whose items are listed.
    pub thread_id: String,
    /// Only those of this turn.
    pub turn_id: Option<String>,
    /// `nextCursor` or `backwardsCursor` of another page; absent for the first page.
    pub cursor: Option<String>,
    /// Most items to return, clamped to 1 through 100; 25 by default.
    pub limit: Option<u32>,
    /// Which way to go; from the oldest item on by default.
    pub sort_direction: Option<SortDirection>,
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

/// An item, and the turn that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemEntry {
    /// The turn.
    pub turn_id: String,
    /// The item.
    pub item: TimedItem,
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
