//! Reading items of a turn by their ids.

use codex_app_server_protocol_macros::Experimental;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::ThreadItemEntry;

/// Params of `thread/items/read`: reads items of a turn by their ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsReadParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Items that are meant, 1 to 100.
    pub item_ids: Vec<String>,
    /// Turn that it concerns.
    pub turn_id: String,
}

/// Reply to `thread/items/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsReadResponse {
    /// Entries of the page, in order.
    pub data: Vec<ThreadItemEntry>,
}
