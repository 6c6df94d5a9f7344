//! Finding files by a few letters of their path: one search at a time, or a session that walks the
//! folders once and answers each change of the query with notifications.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One search; at most 50 matches come back.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchParams {
    /// Words that must all match, their letters in order; an empty query finds nothing.
    pub query: String,
    /// Folders to search; missing ones are passed over, and no root finds nothing.
    pub roots: Vec<String>,
    /// A later search with the same token ends this one early; null means nothing ends it.
    pub cancellation_token: Option<String>,
}

/// Begins a session, which walks its folders once; files made later are not found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionStartParams {
    /// Name the client chooses, not empty; a session of that name is replaced.
    pub session_id: String,
    /// Folders to search; at least one.
    pub roots: Vec<String>,
}

/// Ends a session; an unknown one is no error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionStopParams {
    /// Name the session was started with.
    pub session_id: String,
}

/// Replaces the query of a session; matches come as notifications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionUpdateParams {
    /// Name the session was started with.
    pub session_id: String,
    /// Words that must all match; an empty query finds nothing.
    pub query: String,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FuzzyFileSearchMatchType {
    /// Anything that is not a folder.
    File,
    /// A folder.
    Directory,
}

/// One match; its members are snake_case on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FuzzyFileSearchResult {
    /// The searched folder it is below, as the client gave it.
    pub root: String,
    /// Path relative to that folder.
    pub path: String,
    /// Whether it is a file or a folder.
    pub match_type: FuzzyFileSearchMatchType,
    /// Last component of the path.
    pub file_name: String,
    /// How well it matches; higher is better, comparable within one search only.
    pub score: u32,
    /// Positions in `path` of the matched characters, ascending; null when not known.
    pub indices: Option<Vec<u32>>,
}

/// The walk is over and the matches of the current query are final.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct FuzzyFileSearchSessionCompletedNotification {
    /// Name the session was started with.
    pub session_id: String,
    /// The query that is complete.
    #[serde(default)]
    #[since("own")]
    pub query: String,
}

/// New matches for the current query, at least once for each query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionUpdatedNotification {
    /// Name the session was started with.
    pub session_id: String,
    /// The query they belong to, for telling late ones apart.
    pub query: String,
    /// All matches known now, best first; they replace earlier ones.
    pub files: Vec<FuzzyFileSearchResult>,
}

/// Matches of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchResponse {
    /// Best first, equal ones by path; empty also when the search failed.
    pub files: Vec<FuzzyFileSearchResult>,
}

/// The session runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FuzzyFileSearchSessionStartResponse {}

/// The query is taken; matches follow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FuzzyFileSearchSessionUpdateResponse {}

/// The session is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FuzzyFileSearchSessionStopResponse {}
