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
    /// Where that file belongs. Absent in events of releases that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<HookSource>,
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

/// The origin of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookSource {
    /// Machine-wide settings.
    System,
    /// The user's settings.
    User,
    /// A project.
    Project,
    /// Command line flags.
    SessionFlags,
    /// A connected client.
    Client,
}

/// The occasion that a hook is run for, in the order in which hooks are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEventName {
    /// A request is about to be sent to the model.
    PreModelRequest,
    /// A response of the model has ended.
    PostModelRequest,
    /// A tool is about to be used.
    PreToolUse,
    /// A person is about to be asked for an approval.
    PermissionRequest,
    /// A tool was used.
    PostToolUse,
    /// The history is about to be compacted.
    PreCompact,
    /// The history was compacted.
    PostCompact,
    /// A session starts.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// The user says something.
    UserPromptSubmit,
    /// An agent starts.
    SubagentStart,
    /// A turn of an agent is about to end.
    SubagentStop,
    /// A turn is about to end.
    Stop,
    /// A turn was interrupted.
    Interrupt,
}

macro_rules! hook_event_names {
    ($($variant:ident $pascal:literal $snake:literal $kebab:literal)*) => {
        impl HookEventName {
            /// All events, in the order in which hooks are listed.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in `hooks.json` and in the input of a hook.
            #[must_use]
            pub fn pascal_case(self) -> &'static str {
                match self { $(Self::$variant => $pascal),* }
            }

            /// The name in the key of a hook.
            #[must_use]
            pub fn snake_case(self) -> &'static str {
                match self { $(Self::$variant => $snake),* }
            }

            /// The name in the id of a run.
            #[must_use]
            pub fn kebab_case(self) -> &'static str {
                match self { $(Self::$variant => $kebab),* }
            }
        }
    };
}

hook_event_names! {
    PreModelRequest "PreModelRequest" "pre_model_request" "pre-model-request"
    PostModelRequest "PostModelRequest" "post_model_request" "post-model-request"
    PreToolUse "PreToolUse" "pre_tool_use" "pre-tool-use"
    PermissionRequest "PermissionRequest" "permission_request" "permission-request"
    PostToolUse "PostToolUse" "post_tool_use" "post-tool-use"
    PreCompact "PreCompact" "pre_compact" "pre-compact"
    PostCompact "PostCompact" "post_compact" "post-compact"
    SessionStart "SessionStart" "session_start" "session-start"
    SessionEnd "SessionEnd" "session_end" "session-end"
    UserPromptSubmit "UserPromptSubmit" "user_prompt_submit" "user-prompt-submit"
    SubagentStart "SubagentStart" "subagent_start" "subagent-start"
    SubagentStop "SubagentStop" "subagent_stop" "subagent-stop"
    Stop "Stop" "stop" "stop"
    Interrupt "Interrupt" "interrupt" "interrupt"
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
