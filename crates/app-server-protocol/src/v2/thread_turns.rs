//! Paging through the turns of a thread.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::{Turn, TurnItemsView};

/// Params of `thread/turns/list`: a page of the turns of a thread, loaded or stored.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsListParams {
    /// Thread whose turns are listed.
    pub thread_id: String,
    /// `nextCursor` or `backwardsCursor` of another page; absent for the first page.
    pub cursor: Option<String>,
    /// Most turns to return, clamped to 1 through 100; 25 by default.
    pub limit: Option<u32>,
    /// Which way to go; from the newest turn back by default.
    pub sort_direction: Option<SortDirection>,
    /// How much of their items to return; a summary by default.
    pub items_view: Option<TurnItemsView>,
}

/// Which way a list goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SortDirection {
    /// Oldest first.
    Asc,
    /// Newest first.
    #[default]
    Desc,
}

/// Reply to `thread/turns/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsListResponse {
    /// The turns of the page, in the order asked for.
    pub data: Vec<Turn>,
    /// Where the next page begins; null if this is the last one.
    pub next_cursor: Option<String>,
    /// Where to begin, this page's first turn included, when going the other way; null if the page is
    /// empty.
    pub backwards_cursor: Option<String>,
}
