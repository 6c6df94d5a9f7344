//! Requests that act on a loaded thread beside its turns: rollback, compaction, user shell
//! commands, background terminals, and the counter of questions asked elsewhere.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::Thread;

/// Params of `thread/rollback`: forget the latest turns. Files they changed stay changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRollbackParams {
    /// Loaded thread to shorten; no turn may be running.
    pub thread_id: String,
    /// How many turns to drop, counted from the latest; at least 1.
    pub num_turns: u32,
}

/// Reply to `thread/rollback`, sent once the engine has dropped the turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRollbackResponse {
    /// The thread with the turns that remain.
    pub thread: Thread,
}

/// Params of `thread/compact/start`: replace the history by a summary, in a turn of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCompactStartParams {
    /// Loaded thread to compact; a running turn of it is interrupted.
    pub thread_id: String,
}

/// Reply to `thread/compact/start`: compaction is queued, notifications show its progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadCompactStartResponse {}

/// Params of `thread/shellCommand`: run a command the user typed, outside any sandbox.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ThreadShellCommandParams {
    /// Loaded thread that sees the command and its output.
    pub thread_id: String,
    /// Line for the user's shell to run; must not be blank.
    pub command: String,
    /// Milliseconds after which the command is ended; an hour by default.
    #[since("0.169")]
    pub timeout_ms: Option<i64>,
}

/// Reply to `thread/shellCommand`: the command is queued, notifications show its progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadShellCommandResponse {}

/// Params of `thread/backgroundTerminals/clean`: kill terminals that outlived their call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadBackgroundTerminalsCleanParams {
    /// Loaded thread whose terminals are killed.
    pub thread_id: String,
}

/// Reply to `thread/backgroundTerminals/clean`: the clean-up is queued.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadBackgroundTerminalsCleanResponse {}

/// Params of `thread/increment_elicitation`: the user is being asked something elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadIncrementElicitationParams {
    /// Loaded thread whose command timeouts pause meanwhile.
    pub thread_id: String,
}

/// Reply to `thread/increment_elicitation`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadIncrementElicitationResponse {
    /// How many such questions are now open for the thread.
    pub count: u64,
    /// Whether command timeouts stand still, which they do while any is open.
    pub paused: bool,
}

/// Params of `thread/decrement_elicitation`: a question counted before is settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadDecrementElicitationParams {
    /// Loaded thread whose counter goes down; an error if it is already at zero.
    pub thread_id: String,
}

/// Reply to `thread/decrement_elicitation`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadDecrementElicitationResponse {
    /// How many such questions are still open for the thread.
    pub count: u64,
    /// Whether command timeouts still stand still.
    pub paused: bool,
}

/// Params of `thread/backgroundTerminals/list`: which terminals outlived their call.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadBackgroundTerminalsListParams {
    /// Loaded thread whose terminals are listed.
    pub thread_id: String,
    /// `nextCursor` of the page before; absent for the first page.
    pub cursor: Option<String>,
    /// Most terminals to return, at least 1; all of them by default.
    pub limit: Option<u32>,
}

/// Reply to `thread/backgroundTerminals/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadBackgroundTerminalsListResponse {
    /// Those that still run, the one used last at the end.
    pub data: Vec<ThreadBackgroundTerminal>,
    /// Where the next page begins; null if this is the last one.
    pub next_cursor: Option<String>,
}

/// A command that goes on in the background.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadBackgroundTerminal {
    /// The item of the command.
    pub item_id: String,
    /// Names it, for the model as well.
    pub process_id: String,
    /// The script.
    pub command: String,
    /// Working directory of the command.
    pub cwd: String,
}

/// Params of `thread/backgroundTerminals/terminate`: kill one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadBackgroundTerminalsTerminateParams {
    /// Loaded thread whose terminal is killed.
    pub thread_id: String,
    /// Which terminal.
    pub process_id: String,
}

/// Reply to `thread/backgroundTerminals/terminate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadBackgroundTerminalsTerminateResponse {
    /// Whether there was such a terminal.
    pub terminated: bool,
}
