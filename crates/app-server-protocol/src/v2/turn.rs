//! Turns: the object, and the requests that start one, add to it and interrupt it.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{
    CollaborationMode, FunctionCallOutputBody, Personality, ReasoningEffort, ReasoningSummary,
    ServiceTier, Update, mark_members,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::v2::{
    ApprovalsReviewer, AskForApproval, SandboxPolicy, TimedItem, TurnEnvironmentParams, TurnError,
    UsageLimits, UserInput,
};

/// One exchange: from an input to the end of everything the agent does about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct Turn {
    /// Id of the turn, unique within its thread.
    pub id: String,
    /// First turn of the work that this one belongs to: its own id unless an agent runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub root_turn_id: Option<String>,
    /// What happened, in order; filled only in histories, else notifications bring the items.
    pub items: Vec<TimedItem>,
    /// Whether the turn still runs, or how it ended.
    pub status: TurnStatus,
    /// Why the turn failed; null in every other status.
    pub error: Option<TurnError>,
    /// When it started, in Unix seconds; absent until then, and where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub started_at: Option<i64>,
    /// When it ended, in Unix seconds; absent until then, and where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub completed_at: Option<i64>,
    /// How long it took, in milliseconds; absent until it ended, and where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub duration_ms: Option<i64>,
    /// How much of the items is here; absent means all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub items_view: Option<TurnItemsView>,
}

/// How much of a turn's items a turn object holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TurnItemsView {
    /// None of them.
    NotLoaded,
    /// What the user said first and what the agent said last.
    #[default]
    Summary,
    /// All of them.
    Full,
}

/// How far a turn got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TurnStatus {
    /// Ended by itself, without an error.
    Completed,
    /// Stopped before its end, by a client or by another task that took its place.
    Interrupted,
    /// Ended by the error stored with the turn.
    Failed,
    /// Accepted or running.
    InProgress,
}

/// What a tool of the client answered without having been called by the model.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnToolOutput {
    /// Name of the tool; must not be empty.
    pub name: String,
    /// Namespace of the tool; absent or null if it is in none.
    pub namespace: Option<String>,
    /// The answer, 1,048,576 characters of text at most.
    pub output: FunctionCallOutputBody,
}

/// Params of `turn/start`: give the agent an input. Settings given stay for later turns.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct TurnStartParams {
    /// Loaded thread to run the turn in; starting a turn does not subscribe to it.
    pub thread_id: String,
    /// What the user says, 1,048,576 characters of text at most; empty only with `toolOutput`.
    pub input: Vec<UserInput>,
    /// What a tool of the client answered, in place of an input.
    #[since("0.169")]
    pub tool_output: Option<TurnToolOutput>,
    /// Working directory from now on; absent or null keeps the current one.
    pub cwd: Option<String>,
    /// When to ask before an action, from now on; absent or null keeps the current policy.
    #[experimental(nested)]
    pub approval_policy: Option<AskForApproval>,
    /// Who answers approval requests from now on; absent or null keeps the reviewer.
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// Sandbox for commands from now on; absent or null keeps the current one.
    pub sandbox_policy: Option<SandboxPolicy>,
    /// Built-in permissions in place of a sandbox, from now on; absent or null keeps the current ones.
    #[experimental("turn/start.permissions")]
    #[since("0.140")]
    pub permissions: Option<String>,
    /// Slug of the model from now on; absent or null keeps the current one.
    pub model: Option<String>,
    /// Processing tier from now on: absent keeps the current one, null clears it.
    #[serde(default)]
    pub service_tier: Update<ServiceTier>,
    /// Processing tier of this turn alone; absent or null takes that of the thread.
    #[since("0.169")]
    pub service_tier_for_turn: Option<ServiceTier>,
    /// Effort the model should spend from now on; absent or null keeps the current one.
    pub effort: Option<ReasoningEffort>,
    /// Detail of reasoning summaries from now on; absent or null keeps the current one.
    pub summary: Option<ReasoningSummary>,
    /// Tone of the model from now on; absent or null keeps the current one.
    pub personality: Option<Personality>,
    /// JSON Schema that the final message of this turn alone must follow; absent or null is none.
    pub output_schema: Option<Value>,
    /// Mode from now on; its own model and effort win over `model` and `effort`.
    #[experimental("turn/start.collaborationMode")]
    pub collaboration_mode: Option<CollaborationMode>,
    /// The client's own id of the message; comes back as `clientId` of its item.
    #[since("0.140")]
    pub client_user_message_id: Option<String>,
    /// What the model should know besides, by its names; what it was shown before is left out.
    #[experimental("turn/start.additionalContext")]
    #[since("0.140")]
    pub additional_context: Option<BTreeMap<String, AdditionalContextEntry>>,
    /// Folders that the thread is about, from now on; absent or null keeps the current ones.
    #[experimental("turn/start.runtimeWorkspaceRoots", even_empty)]
    #[since("0.140")]
    pub runtime_workspace_roots: Option<Vec<String>>,
    /// Machines to work on, from now on; absent or null keeps them.
    #[experimental("turn/start.environments", even_empty)]
    #[since("0.140")]
    pub environments: Option<Vec<TurnEnvironmentParams>>,
    /// Strings for the metadata of the turn's model requests, beside its ids.
    #[experimental("turn/start.responsesapiClientMetadata")]
    #[since("0.140")]
    pub responsesapi_client_metadata: Option<BTreeMap<String, String>>,
    /// Strings to change in that metadata.
    #[experimental("turn/start.responsesapiClientMetadataPatch")]
    #[since("0.169")]
    pub responsesapi_client_metadata_patch: Option<BTreeMap<String, String>>,
    /// How agents are used; accepted without an effect.
    #[experimental("turn/start.multiAgentMode")]
    #[since("0.169")]
    pub multi_agent_mode: Option<MultiAgentMode>,
    /// A programme of the provider; accepted without an effect.
    #[experimental("turn/start.cyberAccessProgram")]
    #[since("0.169")]
    pub cyber_access_program: Option<CyberAccessProgram>,
    /// Plugins that are switched off from now on; absent or null keeps the current ones.
    #[since("0.169")]
    pub disabled_plugin_ids: Option<Vec<String>>,
    /// What caused the turn, in the client's words, such as `user`.
    #[since("0.169")]
    pub turn_trigger: Option<String>,
    /// Turn that this one continues; absent or null if there is none.
    #[since("0.169")]
    pub parent_turn_id: Option<String>,
    /// First turn of the work that this one belongs to; absent or null makes it this one.
    #[since("0.169")]
    pub root_turn_id: Option<String>,
    /// Limits of this turn alone, in place of those that the thread has for each; a running turn keeps its own.
    #[experimental("turn/start.limits")]
    #[since("own")]
    pub limits: Option<UsageLimits>,
}

/// How agents are used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MultiAgentMode {
    /// Only when the user asks for them.
    #[default]
    ExplicitRequestOnly,
    /// Whenever the model finds them useful.
    Proactive,
    /// As this text says.
    Custom(String),
}

/// A programme of the model provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CyberAccessProgram {
    /// The usual one.
    Standard,
    /// For defenders.
    DaybreakBlue,
    /// For testers.
    DaybreakRed,
}

/// Something that the model should know besides what is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdditionalContextEntry {
    /// Who stands behind it.
    pub kind: AdditionalContextKind,
    /// The text.
    pub value: String,
}

/// Who stands behind additional context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AdditionalContextKind {
    /// The application that the client is.
    Application,
    /// Nobody: it comes from elsewhere.
    Untrusted,
}

/// Reply to `turn/start`, sent at once; `turn/started` tells when the turn runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartResponse {
    /// The accepted turn, still without items.
    pub turn: Turn,
}

/// Params of `turn/steer`: add to the input of the turn that is running.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct TurnSteerParams {
    /// Loaded thread whose turn is steered.
    pub thread_id: String,
    /// What the user adds, 1,048,576 characters of text at most; must not be empty.
    pub input: Vec<UserInput>,
    /// Turn that the client takes to be running; the request fails if it is not.
    pub expected_turn_id: String,
    /// The client's own id of the message; comes back as `clientId` of its item.
    #[since("0.140")]
    pub client_user_message_id: Option<String>,
    /// What the model should know besides, by its names; what it was shown before is left out.
    #[experimental("turn/steer.additionalContext")]
    #[since("0.140")]
    pub additional_context: Option<BTreeMap<String, AdditionalContextEntry>>,
    /// Strings to add to the metadata of model requests; accepted without an effect.
    #[experimental("turn/steer.responsesapiClientMetadata")]
    #[since("0.140")]
    pub responsesapi_client_metadata: Option<BTreeMap<String, String>>,
    /// Strings to change in that metadata; accepted without an effect.
    #[experimental("turn/steer.responsesapiClientMetadataPatch")]
    #[since("0.169")]
    pub responsesapi_client_metadata_patch: Option<BTreeMap<String, String>>,
}

/// Reply to `turn/steer`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteerResponse {
    /// Running turn that took the input.
    pub turn_id: String,
}

/// Params of `turn/interrupt`: stop a running turn. Background terminals go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct TurnInterruptParams {
    /// Loaded thread whose turn is stopped.
    pub thread_id: String,
    /// Turn to stop.
    pub turn_id: String,
}

/// Reply to `turn/interrupt`; `turn/completed` tells that the turn has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnInterruptResponse {}
