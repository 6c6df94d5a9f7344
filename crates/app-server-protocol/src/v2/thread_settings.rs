//! Changing what a loaded thread is set to, without a turn, and being told of it.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{
    CollaborationMode, Personality, ReasoningEffort, ReasoningSummary, ServiceTier, Update,
    mark_members,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::{
    ApprovalsReviewer, AskForApproval, MultiAgentMode, SandboxPolicy, ThreadEnvironment,
    ThreadLimits, TurnEnvironmentParams, TurnStartParams,
};

/// Params of `thread/settings/update`: settings for later turns, as `turn/start` takes them.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ThreadSettingsUpdateParams {
    /// Loaded thread whose settings change.
    pub thread_id: String,
    /// Working directory; absent or null keeps the current one.
    pub cwd: Option<String>,
    /// When to ask before an action; absent or null keeps the current policy.
    pub approval_policy: Option<AskForApproval>,
    /// Who answers approval requests; absent or null keeps the reviewer.
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// Sandbox for commands; absent or null keeps the current one.
    pub sandbox_policy: Option<SandboxPolicy>,
    /// Built-in permissions in place of a sandbox; absent or null keeps the current ones.
    pub permissions: Option<String>,
    /// Slug of the model; absent or null keeps the current one.
    pub model: Option<String>,
    /// Processing tier: absent keeps the current one, null clears it.
    #[serde(default)]
    pub service_tier: Update<ServiceTier>,
    /// Effort the model should spend; absent or null keeps the current one.
    pub effort: Option<ReasoningEffort>,
    /// Detail of reasoning summaries; absent or null keeps the current one.
    pub summary: Option<ReasoningSummary>,
    /// Tone of the model; absent or null keeps the current one.
    pub personality: Option<Personality>,
    /// Mode; its own model and effort win over `model` and `effort`.
    pub collaboration_mode: Option<CollaborationMode>,
    /// Machines to work on; absent or null keeps them.
    #[since("0.169")]
    pub environments: Option<Vec<TurnEnvironmentParams>>,
    /// How agents are used; accepted without an effect.
    #[since("0.169")]
    pub multi_agent_mode: Option<MultiAgentMode>,
    /// Plugins that are switched off; absent or null keeps the current ones.
    #[since("0.169")]
    pub disabled_plugin_ids: Option<Vec<String>>,
    /// Replaces all limits of the thread; absent or null keeps them.
    #[experimental("thread/settings/update.limits")]
    #[since("own")]
    pub limits: Option<ThreadLimits>,
}

impl From<ThreadSettingsUpdateParams> for TurnStartParams {
    /// A turn that would change the same, with nothing said in it.
    fn from(params: ThreadSettingsUpdateParams) -> Self {
        Self {
            thread_id: params.thread_id,
            input: Vec::new(),
            tool_output: None,
            cwd: params.cwd,
            approval_policy: params.approval_policy,
            approvals_reviewer: params.approvals_reviewer,
            sandbox_policy: params.sandbox_policy,
            permissions: params.permissions,
            model: params.model,
            service_tier: params.service_tier,
            service_tier_for_turn: None,
            effort: params.effort,
            summary: params.summary,
            personality: params.personality,
            output_schema: None,
            collaboration_mode: params.collaboration_mode,
            client_user_message_id: None,
            additional_context: None,
            runtime_workspace_roots: None,
            environments: params.environments,
            responsesapi_client_metadata: None,
            responsesapi_client_metadata_patch: None,
            multi_agent_mode: params.multi_agent_mode,
            cyber_access_program: None,
            disabled_plugin_ids: params.disabled_plugin_ids,
            turn_trigger: None,
            parent_turn_id: None,
            root_turn_id: None,
            limits: None,
        }
    }
}

/// Reply to `thread/settings/update`: `thread/settings/updated` tells the settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSettingsUpdateResponse {}

/// Payload of `thread/settings/updated`, sent after `thread/settings/update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSettingsUpdatedNotification {
    /// The thread.
    pub thread_id: String,
    /// What its next turn will have.
    pub thread_settings: ThreadSettings,
}

/// What a thread is set to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ThreadSettings {
    /// Working directory.
    pub cwd: String,
    /// Where its commands run.
    #[since("0.169")]
    pub environments: Vec<ThreadEnvironment>,
    /// When it asks before an action.
    pub approval_policy: AskForApproval,
    /// Who answers its approval requests.
    pub approvals_reviewer: ApprovalsReviewer,
    /// Sandbox of its commands.
    pub sandbox_policy: SandboxPolicy,
    /// Permissions that the sandbox was chosen by; absent if it was not by a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_permission_profile: Option<ActivePermissionProfile>,
    /// Slug of its model.
    pub model: String,
    /// Configuration key of the provider that serves the model.
    pub model_provider: String,
    /// Processing tier asked of the provider; null for the provider's default.
    pub service_tier: Option<ServiceTier>,
    /// Effort that the model is told to spend; null leaves it to the model.
    pub effort: Option<ReasoningEffort>,
    /// How model and person work together.
    pub collaboration_mode: CollaborationMode,
    /// Plugins that are switched off.
    #[serde(default)]
    #[since("0.169")]
    pub disabled_plugin_ids: Vec<String>,
    /// Detail of reasoning summaries; null leaves it to the model.
    #[serde(default)]
    pub summary: Option<ReasoningSummary>,
    /// Tone of the model; null for its own.
    #[serde(default)]
    pub personality: Option<Personality>,
    /// How agents are used.
    #[serde(default)]
    #[since("0.169")]
    pub multi_agent_mode: MultiAgentMode,
    /// What its turns and agents may use; absent if nothing is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("own")]
    pub limits: Option<ThreadLimits>,
}

/// Permissions that a thread was given by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivePermissionProfile {
    /// The name.
    pub id: String,
    /// Permissions that a configured profile starts from; null for built-in ones.
    #[serde(default)]
    pub extends: Option<String>,
}
