//! Requests that find and read threads without loading them: the pages of stored threads, the ids
//! of loaded ones, and one thread by id.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{Update, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::{SortDirection, Thread, ThreadReadState};

/// Params of `thread/list`: a page of stored threads. Filters combine with "and".
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ThreadListParams {
    /// `nextCursor` of the page before; absent for the first page.
    pub cursor: Option<String>,
    /// Most threads to return, clamped to 1 through 100; 25 by default.
    pub limit: Option<u32>,
    /// Time to sort by; creation by default.
    pub sort_key: Option<ThreadSortKey>,
    /// Which way to go; from the newest thread back by default.
    #[since("0.140")]
    pub sort_direction: Option<SortDirection>,
    /// Providers to keep: an empty list keeps all, absence only the server's current one.
    pub model_providers: Option<Vec<String>>,
    /// Sources to keep; absent or empty keeps the interactive ones.
    pub source_kinds: Option<Vec<ThreadSourceKind>>,
    /// True lists only archived threads; false or absent only the others.
    pub archived: Option<bool>,
    /// Keeps threads recorded with one of these working directories, compared as paths and not
    /// resolved.
    pub cwd: Option<OneOrMore>,
    /// Keeps threads whose title, their first user text, contains this; case matters.
    pub search_term: Option<String>,
    /// Threads to leave out, by their ids.
    #[since("0.169")]
    pub excluded_thread_ids: Option<Vec<String>>,
    /// Keeps only these threads, at most 100; an empty list keeps none.
    #[since("0.171")]
    pub included_thread_ids: Option<Vec<String>>,
    /// Keeps side threads of this thread; others are not listed.
    #[experimental("thread/list.attachedToThreadId")]
    #[since("0.169")]
    pub attached_to_thread_id: Option<String>,
    /// Whether side threads are listed too; only with a search term.
    #[experimental("thread/list.includeAttachedThreads")]
    #[serde(default)]
    #[since("0.169")]
    pub include_attached_threads: bool,
    /// Accepted; the index is all there is to list from.
    #[serde(default)]
    #[since("0.140")]
    pub use_state_db_only: bool,
    /// Accepted; threads are not filed by account.
    #[serde(default)]
    #[since("0.169")]
    pub current_account_only: bool,
    /// Keeps threads that this one spawned; of every source, unless `sourceKinds` says otherwise.
    #[experimental("thread/list.parentThreadId")]
    #[since("0.169")]
    pub parent_thread_id: Option<String>,
    /// Keeps threads that this one spawned, or those did, and so on.
    #[experimental("thread/list.ancestorThreadId")]
    #[since("0.169")]
    pub ancestor_thread_id: Option<String>,
    /// Keeps threads of this section; null those in none, absent all.
    #[serde(default)]
    #[since("0.169")]
    pub section_id: Update<String>,
    /// Keeps threads of this project; null those in none, absent all.
    #[experimental("thread/list.projectId")]
    #[serde(default)]
    #[since("0.169")]
    pub project_id: Update<String>,
    /// Keeps threads begun by these programs; refused unless empty.
    #[since("0.169")]
    pub originators: Option<Vec<String>>,
}

/// A text, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Any number.
    More(Vec<String>),
}

impl From<OneOrMore> for Vec<String> {
    fn from(texts: OneOrMore) -> Self {
        match texts {
            OneOrMore::One(text) => vec![text],
            OneOrMore::More(texts) => texts,
        }
    }
}

/// Time by which a thread list is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = mark_members::<Self>)]
pub enum ThreadSortKey {
    /// When the thread was created.
    CreatedAt,
    /// When the thread last changed.
    UpdatedAt,
    /// The same here: a thread's `recencyAt` is when it last changed.
    #[since("0.169")]
    RecencyAt,
    /// Place within a section, which has to be named by `sectionId`.
    #[since("0.169")]
    SectionPosition,
}

/// Group of thread sources that a list can be restricted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadSourceKind {
    /// Threads of the interactive terminal program.
    Cli,
    /// Threads of rich clients, such as an editor extension.
    Vscode,
    /// Threads of the non-interactive command line.
    Exec,
    /// Threads of the engine run as an MCP server.
    AppServer,
    /// Sub-agents of every kind.
    SubAgent,
    /// Sub-agents that carry out a review.
    SubAgentReview,
    /// Sub-agents that summarise a history.
    SubAgentCompact,
    /// Sub-agents that an agent spawned with a tool.
    SubAgentThreadSpawn,
    /// Sub-agents for any other internal purpose.
    SubAgentOther,
    /// Threads whose stored source this version cannot read.
    Unknown,
}

/// Reply to `thread/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ThreadListResponse {
    /// Threads of this page, without turns.
    pub data: Vec<Thread>,
    /// Opaque place to continue from; null after the last page.
    pub next_cursor: Option<String>,
    /// Where a list in the other direction begins, this page's first thread included, and perhaps
    /// others of the same second; absent if the page is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub backwards_cursor: Option<String>,
    /// What of the threads is unread, by their ids; agents are left out.
    #[serde(default)]
    #[since("0.169")]
    pub read_states: BTreeMap<String, ThreadReadState>,
}

/// Params of `thread/loaded/list`: which threads the server holds in memory.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadLoadedListParams {
    /// `nextCursor` of the page before; absent for the first page.
    pub cursor: Option<String>,
    /// Most ids to return, at least 1; all of them by default.
    pub limit: Option<u32>,
}

/// Reply to `thread/loaded/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadLoadedListResponse {
    /// Ids of loaded threads, sorted as strings.
    pub data: Vec<String>,
    /// Last id of this page, to continue after; null on the last page.
    pub next_cursor: Option<String>,
}

/// Params of `thread/read`: one thread as stored, neither loading it nor subscribing to it.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadParams {
    /// Thread to read; archived and loaded ones are found as well.
    pub thread_id: String,
    /// Whether to fill in the turns, which needs a rollout file; false by default.
    #[serde(default)]
    pub include_turns: bool,
}

/// Reply to `thread/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ThreadReadResponse {
    /// The thread, with turns only if they were asked for.
    pub thread: Thread,
    /// What of the thread is unread; null if it was never written or is an agent.
    #[serde(default)]
    #[since("0.169")]
    pub read_state: Option<ThreadReadState>,
}
