//! Events about hooks: programs of the user that the engine runs on certain events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The start or the end of a hook run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookEvent {
    /// The turn, if any.
    pub turn_id: Option<String>,
    pub run: HookRunSummary,
}

/// A run of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRunSummary {
    /// The id of the run.
    pub id: String,
    /// The event that the hook handles.
    pub event_name: HookEventName,
    /// The kind of the hook.
    pub handler_type: HookHandlerType,
    /// Whether the engine waits for the hook.
    pub execution_mode: HookExecutionMode,
    /// Whether the event concerns the thread or one turn.
    pub scope: HookScope,
    /// The file that defines the hook.
    pub source_path: String,
    /// The configuration layer of that file; absent in events of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<HookSource>,
    /// The position among all hooks, for display.
    pub display_order: i64,
    /// The status.
    pub status: HookRunStatus,
    /// The text to show during the run.
    pub status_message: Option<String>,
    /// The start time in Unix seconds.
    pub started_at: i64,
    /// The end time in Unix seconds.
    pub completed_at: Option<i64>,
    /// The running time in milliseconds.
    pub duration_ms: Option<i64>,
    /// The output of the hook.
    pub entries: Vec<HookOutputEntry>,
}

/// The origin of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookSource {
    System,
    User,
    Project,
    /// Command line options.
    SessionFlags,
    /// A connected client.
    Client,
    /// A plugin.
    Plugin,
}

/// The events that hooks handle, in the order in which hooks are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEventName {
    /// A request is about to be sent to the model.
    PreModelRequest,
    /// A response of the model has ended.
    PostModelRequest,
    /// A tool call is about to run.
    PreToolUse,
    /// A person is about to be asked for an approval.
    PermissionRequest,
    /// A tool call has run.
    PostToolUse,
    /// The history is about to be compacted.
    PreCompact,
    /// The history was compacted.
    PostCompact,
    /// A session starts.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// The user submitted input.
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

/// The kind of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookHandlerType {
    Command,
    /// A tool of an MCP server.
    McpTool,
    /// A prompt for a model.
    Prompt,
    Agent,
}

/// Whether the engine waits for a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookExecutionMode {
    /// It waits, and the result can stop what was about to happen.
    Sync,
    /// It does not wait; not run in this version.
    Async,
}

/// What a hook's event concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookScope {
    /// The thread as a whole.
    Thread,
    /// One turn.
    Turn,
}

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookOutputEntry {
    /// What the text is for.
    pub kind: HookOutputEntryKind,
    /// The text.
    pub text: String,
}

/// What a text from a hook is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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
