//! Events about hooks: programs of the user that the engine runs at certain moments.

use serde::{Deserialize, Serialize};

/// A hook started, or ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookEvent {
    /// The turn, if there was one.
    pub turn_id: Option<String>,
    /// The run, as it is now.
    pub run: HookRunSummary,
}

/// A run of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRunSummary {
    /// The id of the run.
    pub id: String,
    /// What it was run for.
    pub event_name: HookEventName,
    /// What kind of thing the hook is.
    pub handler_type: HookHandlerType,
    /// Whether it is waited for.
    pub execution_mode: HookExecutionMode,
    /// What it concerns.
    pub scope: HookScope,
    /// The file that names the hook.
    pub source_path: String,
    /// Its place among all hooks.
    pub display_order: i64,
    /// How far it has come.
    pub status: HookRunStatus,
    /// What to show while it runs.
    pub status_message: Option<String>,
    /// When it started, in Unix seconds.
    pub started_at: i64,
    /// When it ended, in Unix seconds.
    pub completed_at: Option<i64>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<i64>,
    /// What it said.
    pub entries: Vec<HookOutputEntry>,
}

/// What a hook is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEventName {
    /// A tool is about to be used.
    PreToolUse,
    /// A tool was used.
    PostToolUse,
    /// A session starts.
    SessionStart,
    /// The user says something.
    UserPromptSubmit,
    /// A turn is about to end.
    Stop,
}

/// What kind of thing a hook is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookHandlerType {
    /// A program.
    Command,
    /// A prompt for a model.
    Prompt,
    /// An agent.
    Agent,
}

/// Whether a hook is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookExecutionMode {
    /// It is.
    Sync,
    /// It is not.
    Async,
}

/// What a hook concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookScope {
    /// The whole thread.
    Thread,
    /// One turn.
    Turn,
}

/// How far a hook has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookRunStatus {
    /// It runs.
    Running,
    /// It ended well.
    Completed,
    /// It ended badly, which has no effect.
    Failed,
    /// It holds up what it was run for.
    Blocked,
    /// It ends the turn.
    Stopped,
}

/// Something that a hook said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookOutputEntry {
    /// What it is for.
    pub kind: HookOutputEntryKind,
    /// What was said.
    pub text: String,
}

/// What something that a hook said is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookOutputEntryKind {
    /// A warning for people.
    Warning,
    /// The reason for ending the turn.
    Stop,
    /// The reason for holding something up, for the model.
    Feedback,
    /// More context, for the model.
    Context,
    /// What went wrong with the hook.
    Error,
}
