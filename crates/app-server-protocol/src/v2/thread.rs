//! The thread as clients see it: the object itself, its status, where it came from and the git
//! state stored with it. The requests and notifications that carry it are in the `thread_*` files.

use codex_app_server_protocol_macros::{Experimental, Tagged};
use codex_protocol::{ReasoningEffort, SubAgentSource, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::{ThreadSection, Turn};

/// A conversation with the agent, as stored or as loaded at the moment of the message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct Thread {
    /// UUID that names the thread in every request and notification about it.
    pub id: String,
    /// The session that the thread belongs to, which is named by the thread itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub session_id: Option<String>,
    /// Thread that this one began as a copy of; absent if it did not, or if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub forked_from_id: Option<String>,
    /// Slug of the model that the thread last used; absent where it was not looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub model: Option<String>,
    /// Thread that this one is a side thread of; null if it is none.
    #[serde(default)]
    #[since("0.169")]
    pub attached_to_thread_id: Option<String>,
    /// Project that the thread is filed under; null if it is in none.
    #[serde(default)]
    #[since("0.169")]
    pub project_id: Option<String>,
    /// Section that the thread is in; null if it is in none.
    #[serde(default)]
    #[since("0.169")]
    pub section: Option<ThreadSection>,
    /// Since when it is in that section, in Unix seconds; null if it is in none.
    #[serde(default)]
    #[since("0.169")]
    pub section_entered_at: Option<i64>,
    /// Name of the client that created the thread; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub originator: Option<String>,
    /// Further values: always null here.
    #[serde(default)]
    #[since("0.169")]
    pub extra: Option<ThreadExtra>,
    /// A switch of the client; null but in the reply to `thread/start` that sets it.
    #[serde(default)]
    #[since("0.169")]
    pub daybreak_enabled: Option<bool>,
    /// Thread that spawned this one; absent for every other thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub parent_thread_id: Option<String>,
    /// What the client said on starting the thread that it is for; absent where it is not loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub thread_source: Option<String>,
    /// How clients read the history: in pages of turns and items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub history_mode: Option<ThreadHistoryMode>,
    /// Effort that the model was last told to spend; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Where its commands run, which is this machine; absent where the thread is not loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub environments: Option<Vec<ThreadEnvironment>>,
    /// Whether people may talk to it; absent where the thread is not loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub can_accept_direct_input: Option<bool>,
    /// When the thread last changed, in Unix seconds, as lists by `recency_at` have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub recency_at: Option<i64>,
    /// Text of the first user message at full length; empty while there is none.
    pub preview: String,
    /// Whether the thread lives in memory only. Read from disk, a thread is never ephemeral.
    pub ephemeral: bool,
    /// Configuration key of the model provider that serves the thread.
    pub model_provider: String,
    /// When the thread was created, in Unix seconds; 0 if that cannot be read.
    pub created_at: i64,
    /// When the thread last changed, in Unix seconds; 0 if that cannot be read.
    pub updated_at: i64,
    /// What the thread is doing; `notLoaded` when the server does not hold it in memory.
    pub status: ThreadStatus,
    /// Absolute path of the rollout file, made with the first message; null for ephemeral threads.
    pub path: Option<String>,
    /// Working directory recorded for the thread.
    pub cwd: String,
    /// Version of the engine that created the thread.
    pub cli_version: String,
    /// Kind of program, or of parent agent, that created the thread.
    pub source: SessionSource,
    /// Name drawn for an agent that another agent spawned; null for every other thread.
    pub agent_nickname: Option<String>,
    /// Role that a spawned agent was given; null without one and for every other thread.
    pub agent_role: Option<String>,
    /// Git state stored with the thread; null if none is known and in the `thread/start` reply.
    pub git_info: Option<GitInfo>,
    /// Name given with `thread/name/set`; null if unnamed and in replies that open a new thread.
    pub name: Option<String>,
    /// Turns, oldest first: in resume, fork, rollback and a read that asks for them; else empty.
    pub turns: Vec<Turn>,
}

/// Further values of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadExtra {}

/// How the items of a thread are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadHistoryMode {
    /// With their turns.
    #[default]
    Legacy,
    /// One by one.
    Paginated,
}

/// A machine that a thread works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadEnvironment {
    /// Names it: `local` is the one that the server runs on.
    pub environment_id: String,
    /// Working directory of the thread there.
    pub cwd: String,
    /// Folders that the thread is about.
    pub runtime_workspace_roots: Vec<String>,
}

/// What a thread is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ThreadStatus {
    /// Only on disk, or unknown: the server holds nothing of it in memory.
    NotLoaded,
    /// Loaded, with nothing running and nothing failed since the last turn began.
    Idle,
    /// Loaded, not running, with an engine error since the last turn began.
    SystemError,
    /// A turn is running, or something waits for an answer from a client.
    Active {
        /// What the thread waits for, approvals before questions; empty while it works by itself.
        active_flags: Vec<ThreadActiveFlag>,
    },
}

/// Something that an active thread needs from its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadActiveFlag {
    /// A command, file change, permission or MCP elicitation request is unanswered.
    WaitingOnApproval,
    /// Questions that the agent put to the user are unanswered.
    WaitingOnUserInput,
}

/// Kind of program, or of parent agent, that creates a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionSource {
    /// The interactive terminal program.
    Cli,
    /// A rich client of this server; also assumed where a stored thread does not say.
    Vscode,
    /// The non-interactive command line.
    Exec,
    /// The engine run as an MCP server.
    AppServer,
    /// A stored source that this version cannot read.
    Unknown,
    /// A product that names itself, such as `atlas` or `chatgpt`.
    Custom(String),
    /// Another thread, which runs this one as its sub-agent.
    SubAgent(SubAgentSource),
}

/// Git state of the thread's directory when its first message was stored, or as edited later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitInfo {
    /// Commit that HEAD pointed to; null in a repository without commits.
    pub sha: Option<String>,
    /// Name of the checked-out branch; null with a detached HEAD.
    pub branch: Option<String>,
    /// URL of the remote called `origin`; null without such a remote.
    pub origin_url: Option<String>,
}
