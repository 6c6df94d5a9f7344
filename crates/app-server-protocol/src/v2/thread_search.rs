//! Searching the messages of threads.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rpc::RequestId;
use crate::v2::{SortDirection, Thread, ThreadSourceKind};

/// Params of `thread/search`: searches the messages of all threads.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ThreadSearchParams {
    /// Whether archived threads are meant.
    pub archived: Option<bool>,
    /// Accepted; threads are not filed by account.
    #[serde(default)]
    #[since("0.169")]
    pub current_account_only: bool,
    /// `nextCursor` of the page before; absent or null for the first page.
    pub cursor: Option<String>,
    /// Whether side threads are searched too.
    #[serde(default)]
    #[since("0.169")]
    pub include_attached_threads: bool,
    /// Most entries of the page; absent or null takes the default.
    pub limit: Option<u32>,
    /// Text to look for; must not be empty.
    pub search_term: String,
    /// Which way to go.
    pub sort_direction: Option<SortDirection>,
    /// What to sort by.
    pub sort_key: Option<ThreadSearchSortKey>,
    /// Kinds of threads to return; absent or null takes the interactive ones.
    pub source_kinds: Option<Vec<ThreadSourceKind>>,
}

/// Reply to `thread/search`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchResponse {
    /// Where to begin when going the other way; null if the page is empty.
    pub backwards_cursor: Option<String>,
    /// Entries of the page, in order.
    pub data: Vec<ThreadSearchResult>,
    /// Where the next page begins; null on the last page.
    pub next_cursor: Option<String>,
}

/// Payload of `thread/search/partial`: threads that `thread/search/stream` has found so far, as they are stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchPartialNotification {
    /// The search.
    pub request_id: RequestId,
    /// What was found since the notification before.
    pub data: Vec<ThreadSearchResult>,
}

/// Params of `thread/search/cancel` and `thread/search/stream/cancel`: gives up a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchCancelParams {
    /// Id of the request that is meant.
    pub request_id: RequestId,
}

/// The search is given up, if it was running.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSearchCancelResponse {}

/// Params of `thread/searchOccurrences`: searches the messages of one thread.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchOccurrencesParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// `nextCursor` of the page before; absent or null for the first page.
    pub cursor: Option<String>,
    /// Most entries of the page; absent or null takes the default.
    pub limit: Option<u32>,
    /// Text to look for; must not be empty.
    pub search_term: String,
}

/// Reply to `thread/searchOccurrences`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchOccurrencesResponse {
    /// Entries of the page, in order.
    pub data: Vec<ThreadSearchOccurrence>,
    /// Where the next page begins; null on the last page.
    pub next_cursor: Option<String>,
}

/// A thread that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchResult {
    /// Part of the message around the match.
    pub snippet: String,
    /// The thread.
    pub thread: Thread,
}

/// What threads are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = mark_members::<Self>)]
pub enum ThreadSearchSortKey {
    /// Created at.
    CreatedAt,
    /// Recency at.
    #[since("0.169")]
    RecencyAt,
    /// Updated at.
    UpdatedAt,
}

/// A match in a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchOccurrence {
    /// Item that it concerns.
    pub item_id: String,
    /// Part of the message around the match.
    pub snippet: String,
    /// Where in the snippet the match is, in UTF-16 units.
    pub snippet_match_range: ThreadSearchTextRange,
    /// Cursor of the turn, for `thread/turns/list`.
    pub turn_cursor: String,
    /// Turn that it concerns.
    pub turn_id: String,
}

/// A range of a text, in UTF-16 units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchTextRange {
    /// End, exclusive.
    pub end: u32,
    /// Start, inclusive.
    pub start: u32,
}
