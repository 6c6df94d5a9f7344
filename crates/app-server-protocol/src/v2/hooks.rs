//! Runs of the user's hooks: what clients learn when one starts and when it has ended.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Payload of `hook/started`: a hook begins to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookStartedNotification {
    /// Thread that the hook runs for.
    pub thread_id: String,
    /// Turn that the hook runs in; null outside a turn.
    pub turn_id: Option<String>,
    /// The run so far.
    pub run: HookRunSummary,
}

/// Payload of `hook/completed`, sent once all hooks of the same event have ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookCompletedNotification {
    /// Thread that the hook ran for.
    pub thread_id: String,
    /// Turn that the hook ran in; null outside a turn.
    pub turn_id: Option<String>,
    /// The run with its result.
    pub run: HookRunSummary,
}

/// One run of one hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookRunSummary {
    /// Made of event, `displayOrder` and file; the same hook has the same id each time it runs.
    pub id: String,
    /// What the hook reacts to.
    pub event_name: HookEventName,
    /// What kind of thing is run.
    pub handler_type: HookHandlerType,
    /// Whether the engine waits for the hook.
    pub execution_mode: HookExecutionMode,
    /// What the hook's event concerns.
    pub scope: HookScope,
    /// Path of the `hooks.json` that defines the hook.
    pub source_path: String,
    /// Place among all configured hooks, from 0.
    pub display_order: i64,
    /// Whether the hook runs, or how it ended.
    pub status: HookRunStatus,
    /// Text to show while the hook runs; null if none is configured.
    pub status_message: Option<String>,
    /// When the run began, in Unix seconds.
    pub started_at: i64,
    /// When the run ended, in Unix seconds; null while it runs.
    pub completed_at: Option<i64>,
    /// How long the run took, in milliseconds; null while it runs.
    pub duration_ms: Option<i64>,
    /// What the hook had to say; empty while it runs.
    pub entries: Vec<HookOutputEntry>,
}

/// What a hook reacts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookEventName {
    /// The agent is about to run a command.
    PreToolUse,
    /// A command of the agent has ended successfully.
    PostToolUse,
    /// The first turn of a started or resumed thread begins.
    SessionStart,
    /// A user message is about to be recorded.
    UserPromptSubmit,
    /// A turn is about to end normally.
    Stop,
}

/// What kind of thing a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookHandlerType {
    /// A shell command, run outside the sandbox.
    Command,
    /// A prompt to a model; not run in this version.
    Prompt,
    /// An agent; not run in this version.
    Agent,
}

/// Whether the engine waits for a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookExecutionMode {
    /// It waits, and the result can stop what was about to happen.
    Sync,
    /// It does not wait; not run in this version.
    Async,
}

/// What a hook's event concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookScope {
    /// The thread as a whole.
    Thread,
    /// One turn.
    Turn,
}

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookRunStatus {
    /// Not ended yet.
    Running,
    /// Ended, with nothing against going on.
    Completed,
    /// Could not be run, timed out, or gave output that cannot be used; never stops anything.
    Failed,
    /// Objected to what was about to happen or has just happened.
    Blocked,
    /// Demanded that the agent goes no further.
    Stopped,
}

/// Something a hook had to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookOutputEntry {
    /// What the text is for.
    pub kind: HookOutputEntryKind,
    /// The text.
    pub text: String,
}

/// What a text from a hook is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookOutputEntryKind {
    /// Tells the user something.
    Warning,
    /// Tells why the hook demanded a stop.
    Stop,
    /// Tells the agent why the hook objected.
    Feedback,
    /// Adds to what the agent knows.
    Context,
    /// Tells what went wrong with the hook itself.
    Error,
}

/// Params of `hooks/list`: which hooks there are for some folders.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct HooksListParams {
    /// The folders; the server's own if there are none.
    #[serde(default)]
    pub cwds: Vec<String>,
}

/// Reply to `hooks/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HooksListResponse {
    /// An entry for each folder.
    pub data: Vec<HooksListEntry>,
}

/// The hooks of a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HooksListEntry {
    /// The folder.
    pub cwd: String,
    /// Hooks that run: none, as this version runs no hooks.
    pub hooks: Vec<Value>,
    /// Sentences for people: which files ask for hooks that are not run.
    pub warnings: Vec<String>,
    /// Files that cannot be read; none, as they are not.
    pub errors: Vec<HookErrorInfo>,
}

/// A file of hooks that cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookErrorInfo {
    /// The file.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}
