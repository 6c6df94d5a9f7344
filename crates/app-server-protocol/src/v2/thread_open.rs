//! Requests by which a connection gets hold of a thread and lets go of it: start, resume and fork,
//! each with the settings it may override, and unsubscribe.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{
    CollaborationMode, Personality, ReasoningEffort, ResponseItem, ServiceTier, Update,
    mark_members,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::v2::{
    ActivePermissionProfile, ApprovalsReviewer, AskForApproval, ContinueTurn, DynamicToolSpec,
    InterruptedTurn, MultiAgentMode, SandboxMode, SandboxPolicy, SortDirection, Thread,
    ThreadHistoryMode, ThreadLimits, ThreadTurnsListResponse, TurnEnvironmentParams, TurnItemsView,
};

/// Defines the params of a request that opens a thread: its own, and the settings that each of these requests may override.
macro_rules! with_requested_settings {
    ($(#[$about:meta])* $method:literal pub struct $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[sparse]
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
        #[serde(rename_all = "camelCase")]
        #[schemars(transform = mark_members::<Self>)]
        pub struct $name {
            $($own)*
            /// Slug of the model to use. Absent: the configured one; when a thread is resumed, the one stored with it.
            pub model: Option<String>,
            /// Configuration key of the model provider to use. Giving it also drops a stored model and effort.
            pub model_provider: Option<String>,
            /// Processing tier to ask the provider for: absent keeps the configured one, null clears it.
            #[serde(default)]
            pub service_tier: Update<ServiceTier>,
            /// Working directory; a relative one starts at the server's. Absent: that of the server; for a stored thread, its own.
            pub cwd: Option<String>,
            /// When to ask before an action; absent takes the configured policy.
            #[experimental(nested)]
            pub approval_policy: Option<AskForApproval>,
            /// Who answers approval requests; absent takes the configured reviewer.
            pub approvals_reviewer: Option<ApprovalsReviewer>,
            /// Sandbox mode for commands; its details come from the configuration, as does an absent one.
            pub sandbox: Option<SandboxMode>,
            /// Named permissions in place of a sandbox mode, built-in or of the configuration.
            #[experimental(concat!($method, ".permissions"))]
            #[since("0.140")]
            pub permissions: Option<String>,
            /// What the thread may use; where it says nothing, the configured limits hold, then those that a resumed thread had. A fork
            /// counts what its source used.
            #[experimental(concat!($method, ".limits"))]
            #[since("own")]
            pub limits: Option<ThreadLimits>,
            /// Folders that the thread is about, in place of its working directory.
            #[experimental(concat!($method, ".runtimeWorkspaceRoots"), even_empty)]
            #[since("0.140")]
            pub runtime_workspace_roots: Option<Vec<String>>,
            /// Overrides by dotted configuration key: stronger than files, weaker than the other params.
            pub config: Option<BTreeMap<String, Value>>,
            /// Text to send as system instructions in place of the model's own, or those stored with the thread.
            pub base_instructions: Option<String>,
            /// Text to add to the context as a further developer message.
            pub developer_instructions: Option<String>,
            /// Whether to store commands, tool calls and errors too, so that later reads show them; not remembered by the thread.
            #[experimental(concat!($method, ".persistFullHistory"))]
            #[serde(default)]
            #[until("0.117")]
            pub persist_extended_history: bool,
        }
    };
}

/// Defines a reply that ends with the settings in force.
macro_rules! with_settings_in_force {
    ($(#[$about:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
        #[serde(rename_all = "camelCase")]
        #[schemars(transform = mark_members::<Self>)]
        pub struct $name {
            $($own)*
            /// Slug of the model that the next turn will use.
            pub model: String,
            /// Configuration key of the provider that serves the model.
            pub model_provider: String,
            /// Processing tier asked of the provider; null for the provider's default.
            pub service_tier: Option<ServiceTier>,
            /// Absolute working directory of the thread.
            pub cwd: String,
            /// When the thread asks before an action.
            #[experimental(nested)]
            pub approval_policy: AskForApproval,
            /// Who answers the thread's approval requests.
            pub approvals_reviewer: ApprovalsReviewer,
            /// Sandbox that the thread's commands run in, with all details resolved.
            pub sandbox: SandboxPolicy,
            /// Permissions that the sandbox was chosen by; absent if it was not by a name.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[since("0.140")]
            pub active_permission_profile: Option<ActivePermissionProfile>,
            /// Plugins that are switched off.
            #[serde(default)]
            #[since("0.169")]
            pub disabled_plugin_ids: Vec<String>,
            /// Folders that the thread is about.
            #[serde(default)]
            #[since("0.140")]
            pub runtime_workspace_roots: Vec<String>,
            /// Files with instructions that the model gets, in order.
            #[serde(default)]
            #[since("0.140")]
            pub instruction_sources: Vec<String>,
            /// How agents are used.
            #[serde(default)]
            #[since("0.169")]
            pub multi_agent_mode: MultiAgentMode,
            /// Effort that the model is told to spend; null leaves it to the model.
            pub reasoning_effort: Option<ReasoningEffort>,
        }
    };
}

with_requested_settings! {
    /// Params of `thread/start`: a new thread. Absent settings come from the configuration.
    "thread/start"
    pub struct ThreadStartParams {
        /// Machines to work on; an empty list offers no tools that run commands.
        #[experimental("thread/start.environments", even_empty)]
        #[since("0.140")]
        pub environments: Option<Vec<TurnEnvironmentParams>>,
        /// How clients are going to read the history; every thread here can be read either way.
        #[experimental("thread/start.historyMode")]
        #[since("0.169")]
        pub history_mode: Option<ThreadHistoryMode>,
        /// Project to file the thread under.
        #[experimental("thread/start.projectId")]
        #[since("0.169")]
        pub project_id: Option<String>,
        /// How agents are used; accepted without an effect.
        #[experimental("thread/start.multiAgentMode")]
        #[since("0.169")]
        pub multi_agent_mode: Option<MultiAgentMode>,
        /// Whether the provider may choose another model; accepted without an effect.
        #[experimental("thread/start.allowProviderModelFallback")]
        #[serde(default)]
        #[since("0.169")]
        pub allow_provider_model_fallback: bool,
        /// A switch of the client that the reply returns and nothing stores; not for ephemeral threads.
        #[experimental("thread/start.daybreakEnabled")]
        #[since("0.169")]
        pub daybreak_enabled: Option<bool>,
        /// Folders of capabilities that the thread uses; accepted without an effect.
        #[experimental("thread/start.selectedCapabilityRoots")]
        #[since("0.140")]
        pub selected_capability_roots: Option<Vec<Value>>,
        /// How the session came about, in the client's words; accepted without an effect.
        #[since("0.140")]
        pub session_start_source: Option<String>,
        /// Tag that marks the thread in metrics; changes nothing else.
        pub service_name: Option<String>,
        /// What the thread is for, in the client's words, such as `user`; told with the thread.
        #[since("0.140")]
        pub thread_source: Option<String>,
        /// Tone of the model's instructions; ignored for models without a choice of tones.
        pub personality: Option<Personality>,
        /// Whether to keep the thread in memory and write nothing to disk; false by default.
        pub ephemeral: Option<bool>,
        /// Tools that this client runs itself when the server sends it `item/tool/call`.
        #[experimental("thread/start.dynamicTools")]
        pub dynamic_tools: Option<Vec<DynamicToolSpec>>,
        /// Ignored; lets clients test how gated fields are refused.
        #[experimental("thread/start.mockExperimentalField")]
        pub mock_experimental_field: Option<String>,
        /// Whether subscribers also get `rawResponseItem/completed`; false by default.
        #[experimental("thread/start.experimentalRawEvents")]
        #[serde(default)]
        pub experimental_raw_events: bool,
    }
}

with_settings_in_force! {
    /// Reply to `thread/start`: the new thread and the settings in force.
    pub struct ThreadStartResponse {
        /// The thread, without turns; the `thread/started` that follows repeats it.
        pub thread: Thread,
    }
}

with_requested_settings! {
    /// Params of `thread/resume`: load a stored thread, or join a loaded one, ignoring the settings.
    "thread/resume"
    pub struct ThreadResumeParams {
        /// Thread to resume; with `history` or `path` it only decides whether a loaded one is joined.
        pub thread_id: String,
        /// Model items to open a new thread with, under a new id; refused for a loaded thread.
        #[experimental("thread/resume.history")]
        pub history: Option<Vec<ResponseItem>>,
        /// Rollout file to load; a relative path starts at the server's working directory.
        #[experimental("thread/resume.path")]
        pub path: Option<String>,
        /// Tone of the model's instructions; ignored for models without a choice of tones.
        pub personality: Option<Personality>,
        /// Whether to leave the turns out of the reply, for `thread/turns/list`; false by default.
        #[serde(default)]
        #[since("0.140")]
        pub exclude_turns: bool,
        /// Asks for the first page of `thread/turns/list` with the reply; absent or null is none.
        #[experimental("thread/resume.initialTurnsPage")]
        #[since("0.140")]
        pub initial_turns_page: Option<ThreadResumeInitialTurnsPageParams>,
        /// Whether a turn that had not ended when its server did is continued at once; absent only tells about it.
        #[experimental("thread/resume.continueTurn")]
        #[since("own")]
        pub continue_turn: Option<ContinueTurn>,
    }
}

/// Which page of turns comes with the reply to `thread/resume`; as in `thread/turns/list`.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumeInitialTurnsPageParams {
    /// Most turns to return, clamped to 1 through 100; 25 by default.
    pub limit: Option<u32>,
    /// Which way to go; from the newest turn back by default.
    pub sort_direction: Option<SortDirection>,
    /// How much of their items to return; a summary by default.
    pub items_view: Option<TurnItemsView>,
}

with_settings_in_force! {
    /// Reply to `thread/resume`: the thread with its history and the settings in force.
    pub struct ThreadResumeResponse {
        /// The thread with its turns; under a new id and without turns if `history` was given.
        pub thread: Thread,
        /// How model and person work together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.169")]
        pub collaboration_mode: Option<CollaborationMode>,
        /// Cursor of the newest turn, for `thread/turns/list`; null if there is none.
        #[serde(default)]
        #[since("0.169")]
        pub turns_backwards_cursor: Option<String>,
        /// Cursor of the newest item, for `thread/items/list`; null if there is none.
        #[serde(default)]
        #[since("0.169")]
        pub items_backwards_cursor: Option<String>,
        /// The page of turns, if `initialTurnsPage` asked for one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.140")]
        pub initial_turns_page: Option<ThreadTurnsListResponse>,
        /// The last turn, if it had not ended when its server did; it can be continued until another turn starts.
        #[experimental("thread/resume.interruptedTurn")]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("own")]
        pub interrupted_turn: Option<InterruptedTurn>,
    }
}

with_requested_settings! {
    /// Params of `thread/fork`: a new thread that begins with a copy of another's history.
    "thread/fork"
    pub struct ThreadForkParams {
        /// Thread to copy; it may be running, and is not used when `path` is given.
        pub thread_id: String,
        /// Rollout file to copy; a relative path starts at the server's working directory.
        #[experimental("thread/fork.path")]
        pub path: Option<String>,
        /// Whether to keep the new thread in memory and write nothing to disk; false by default.
        #[serde(default)]
        pub ephemeral: bool,
        /// Whether to leave the turns out of the reply, for `thread/turns/list`; false by default.
        #[serde(default)]
        #[since("0.140")]
        pub exclude_turns: bool,
        /// What the fork is for, in the client's words; returned with the thread.
        #[since("0.140")]
        pub thread_source: Option<String>,
        /// Whether the fork is a side thread: it belongs to its source, and lists leave it out.
        #[experimental("thread/fork.attachToSource")]
        #[serde(default)]
        #[since("0.169")]
        pub attach_to_source: bool,
        /// Whether the goal comes along; it waits for the first turn that a client starts. Otherwise the fork has no goal.
        #[experimental("thread/fork.deferGoalContinuation")]
        #[serde(default)]
        #[since("0.169")]
        pub defer_goal_continuation: bool,
        /// Whether the fork is for predictions; refused unless it is ephemeral.
        #[experimental("thread/fork.experimentalPredictionMode")]
        #[serde(default)]
        #[since("0.169")]
        pub experimental_prediction_mode: bool,
        /// Whether such a fork goes without MCP servers; accepted without an effect.
        #[experimental("thread/fork.experimentalDisablePredictionMcp")]
        #[serde(default)]
        #[since("0.169")]
        pub experimental_disable_prediction_mcp: bool,
        /// Last turn to copy; absent copies all of them.
        #[since("0.169")]
        pub last_turn_id: Option<String>,
        /// First turn not to copy, instead of `lastTurnId`.
        #[experimental("thread/fork.beforeTurnId")]
        #[since("0.169")]
        pub before_turn_id: Option<String>,
    }
}

with_settings_in_force! {
    /// Reply to `thread/fork`: the new thread and the settings in force.
    pub struct ThreadForkResponse {
        /// The new thread with the copied turns; a turn that was running ends interrupted in the copy.
        pub thread: Thread,
    }
}

/// Params of `thread/unsubscribe`: stop hearing a thread, which is unloaded if nobody else does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnsubscribeParams {
    /// Thread whose events this connection no longer wants.
    pub thread_id: String,
}

/// Reply to `thread/unsubscribe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnsubscribeResponse {
    /// What the request found.
    pub status: ThreadUnsubscribeStatus,
}

/// What `thread/unsubscribe` found, and so whether it changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadUnsubscribeStatus {
    /// The server does not hold the thread in memory; nothing changed.
    NotLoaded,
    /// The thread is loaded, but this connection did not hear it; nothing changed.
    NotSubscribed,
    /// This connection heard the thread and no longer does.
    Unsubscribed,
}
