//! Everything that happened in a thread, in order.

use codex_app_server_protocol_macros::{Experimental, Tagged, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::{ThreadRealtimeItem, TimedItem, TurnError, TurnStatus};

/// Params of `thread/timeline/list`: pages through everything that happened in a thread.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTimelineListParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// `nextCursor` of the page before; absent or null for the first page.
    pub cursor: Option<String>,
    /// Most entries of the page; absent or null takes the default.
    pub limit: Option<u32>,
}

/// Reply to `thread/timeline/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTimelineListResponse {
    /// Live conversation that goes on where the page begins; null if there is none.
    pub active_realtime_session_at_page_start: Option<String>,
    /// Entries of the page, in order.
    pub data: Vec<ThreadTimelineEntry>,
    /// Where the next page begins; null on the last page.
    pub next_cursor: Option<String>,
}

/// Something that happened in a thread, with its position.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ThreadTimelineEntry {
    /// Item.
    Item {
        /// The item.
        item: Box<TimedItem>,
        /// Place in the order: greater than that of every entry before it.
        position: u64,
        /// Turn that it concerns.
        turn_id: String,
    },
    /// Realtime.
    Realtime {
        /// The item.
        item: ThreadRealtimeItem,
        /// Place in the order: greater than that of every entry before it.
        position: u64,
    },
    /// Turn started.
    TurnStarted {
        /// Place in the order: greater than that of every entry before it.
        position: u64,
        /// When it started, in Unix seconds; null if unknown.
        started_at: Option<i64>,
        /// Turn that it concerns.
        turn_id: String,
    },
    /// Turn completed.
    TurnCompleted {
        /// When it ended, in Unix seconds; null if unknown.
        completed_at: Option<i64>,
        /// How long it took, in milliseconds; null if unknown.
        duration_ms: Option<i64>,
        /// Why it failed; null if it did not.
        error: Option<TurnError>,
        /// Place in the order: greater than that of every entry before it.
        position: u64,
        /// When it started, in Unix seconds; null if unknown.
        started_at: Option<i64>,
        /// State that it is in.
        status: TurnStatus,
        /// Turn that it concerns.
        turn_id: String,
    },
}
