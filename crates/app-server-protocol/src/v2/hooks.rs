//! Runs of the user's hooks: what clients learn when one starts and when it has ended.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{HookExecutionMode, HookOutputEntry, HookRunStatus, HookScope, mark_members};
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
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
    /// Path of the file that configures the hook; the name of a client that registered it.
    pub source_path: String,
    /// Where that file belongs.
    #[serde(default)]
    #[since("0.140")]
    pub source: HookSource,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub enum HookEventName {
    /// A request is about to be sent to the model.
    #[since("0.169")]
    PreModelRequest,
    /// A response of the model has ended.
    #[since("0.169")]
    PostModelRequest,
    /// The agent is about to use a tool.
    PreToolUse,
    /// The user is about to be asked for an approval.
    #[since("0.140")]
    PermissionRequest,
    /// The agent has used a tool.
    PostToolUse,
    /// The history is about to be compacted.
    #[since("0.140")]
    PreCompact,
    /// The history was compacted.
    #[since("0.140")]
    PostCompact,
    /// The first turn of a started or resumed thread begins.
    SessionStart,
    /// A thread is unloaded.
    #[since("0.169")]
    SessionEnd,
    /// A user message is about to be recorded.
    UserPromptSubmit,
    /// The first turn of an agent begins.
    #[since("0.140")]
    SubagentStart,
    /// A turn of an agent is about to end normally.
    #[since("0.140")]
    SubagentStop,
    /// A turn is about to end normally.
    Stop,
    /// A turn was interrupted.
    #[since("0.169")]
    Interrupt,
}

/// The layer of the settings that configures a hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookSource {
    /// Machine-wide settings.
    System,
    /// The user's settings.
    User,
    /// Settings of a project.
    Project,
    /// Managed settings of a device.
    Mdm,
    /// Command line flags.
    SessionFlags,
    /// A plugin.
    Plugin,
    /// Requirements of an administrator.
    CloudRequirements,
    /// Managed settings of an account.
    CloudManagedConfig,
    /// The older file of managed settings.
    LegacyManagedConfigFile,
    /// The older managed settings of a device.
    LegacyManagedConfigMdm,
    /// Another source, as a client that registered the hook.
    #[default]
    Unknown,
}

/// What kind of thing a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub enum HookHandlerType {
    /// A shell command, run outside the sandbox.
    Command,
    /// A tool of an MCP server.
    #[since("0.169")]
    McpTool,
    /// A prompt to a model; not run in this version.
    Prompt,
    /// An agent; not run in this version.
    Agent,
}

/// Params of `hooks/list`: which hooks there are for some folders.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct HooksListParams {
    /// The folders; that of the thread, or the server's own, if there are none.
    #[serde(default)]
    pub cwds: Vec<String>,
    /// A loaded thread whose folder is looked at.
    #[serde(default)]
    #[since("0.169")]
    pub thread_id: Option<String>,
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
    /// The hooks, whether they may run or not.
    pub hooks: Vec<HookMetadata>,
    /// Sentences for people: what in the files cannot be used.
    pub warnings: Vec<String>,
    /// Files that cannot be read.
    pub errors: Vec<HookErrorInfo>,
}

/// A configured hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct HookMetadata {
    /// Identifies the hook in `hooks.state` of the user's settings.
    pub key: String,
    /// What the hook reacts to.
    pub event_name: HookEventName,
    /// What kind of thing is run.
    pub handler_type: HookHandlerType,
    /// The command line; absent if it is no command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether nobody waits for the command, which then decides nothing; absent if it is no command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub r#async: Option<bool>,
    /// The MCP server; absent if it is no tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub server: Option<String>,
    /// The tool of that server; absent if it is no tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub tool: Option<String>,
    /// Restricts the occasions; null if there is no restriction.
    pub matcher: Option<String>,
    /// After this many seconds a run is killed.
    pub timeout_sec: u64,
    /// Text to show while the hook runs; null if none is configured.
    pub status_message: Option<String>,
    /// The most tokens of context that the hook may add; null for the usual limit.
    #[since("0.169")]
    pub additional_context_limit: Option<u64>,
    /// Whether a run that fails counts as an objection.
    #[since("own")]
    pub on_error: HookErrorEffect,
    /// Path of the file that configures the hook.
    pub source_path: String,
    /// Where that file belongs.
    pub source: HookSource,
    /// The plugin that brings the hook; null if none does.
    pub plugin_id: Option<String>,
    /// The environment that the hook runs in; null for the server's own.
    #[since("0.169")]
    pub environment_id: Option<String>,
    /// Place among all configured hooks, from 0.
    pub display_order: i64,
    /// Whether the user left the hook switched on.
    pub enabled: bool,
    /// Whether an administrator configured the hook.
    pub is_managed: bool,
    /// Hash of what the hook does, to be stored as `trusted_hash`.
    pub current_hash: String,
    /// Whether the user trusts the hook as it is.
    pub trust_status: HookTrustStatus,
}

/// What a run of a hook does that crashes, takes too long or answers what cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookErrorEffect {
    /// Nothing: what the hook was asked about goes on.
    #[default]
    Ignore,
    /// The same as an objection.
    Block,
}

/// Whether the user trusts a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookTrustStatus {
    /// An administrator configured it.
    Managed,
    /// The user has not decided; it does not run unless the feature `codex_hooks` is on.
    Untrusted,
    /// It runs.
    Trusted,
    /// It was changed after the user trusted it; it does not run.
    Modified,
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

/// Params of `hooks/register`: the client wants to be asked on certain occasions.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct HooksRegisterParams {
    /// What the hook reacts to.
    pub event_name: HookEventName,
    /// The thread; every thread if absent.
    #[serde(default)]
    pub thread_id: Option<String>,
    /// A regular expression that restricts the occasions, as in `hooks.json`.
    #[serde(default)]
    pub matcher: Option<String>,
    /// How many seconds to wait for an answer: from 1 to 600, 60 if absent.
    #[serde(default)]
    pub timeout_sec: Option<u64>,
    /// What no answer does, or one that cannot be read: nothing if absent.
    #[serde(default)]
    pub on_error: Option<HookErrorEffect>,
    /// Text for other clients to show while an answer is awaited.
    #[serde(default)]
    pub status_message: Option<String>,
}

/// Reply to `hooks/register`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HooksRegisterResponse {
    /// The id of the registration. It lasts as long as the connection.
    pub hook_id: String,
}

/// Params of `hooks/unregister`: the client no longer wants to be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct HooksUnregisterParams {
    /// The id of the registration.
    pub hook_id: String,
}

/// Reply to `hooks/unregister`: nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HooksUnregisterResponse {}

/// Params of `hook/run`: an occasion that the client has registered for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct HookRunParams {
    /// The id of the registration.
    pub hook_id: String,
    /// The thread.
    pub thread_id: String,
    /// The turn; null outside of turns.
    pub turn_id: Option<String>,
    /// What the hook reacts to.
    pub event_name: HookEventName,
    /// What a command would be given as its input.
    pub input: Value,
}

/// Reply to `hook/run`.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookRunResponse {
    /// What a command would print: an object, or a text for additional context. Nothing has no effect.
    #[serde(default)]
    pub output: Option<Value>,
}
