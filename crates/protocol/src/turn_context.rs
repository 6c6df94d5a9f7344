//! The line of a rollout with the settings of a turn.

use codex_app_server_protocol_macros::sparse;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::policy::{AskForApproval, SandboxPolicy};
use crate::settings::{CollaborationMode, Personality, ReasoningEffort, ReasoningSummary};
use crate::thread_settings::EnvironmentChoice;
use crate::usage_limits::{ThreadLimits, UsageLimits};

/// The settings of a turn. Older records lack much of what is optional.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnContext {
    /// The turn.
    pub turn_id: Option<String>,
    /// The trace that it belongs to.
    pub trace_id: Option<String>,
    /// The working directory.
    pub cwd: String,
    /// The local date, `YYYY-MM-DD`.
    pub current_date: Option<String>,
    /// The local time zone, by its IANA name.
    pub timezone: Option<String>,
    /// The approval policy.
    pub approval_policy: AskForApproval,
    /// The sandbox policy.
    pub sandbox_policy: SandboxPolicy,
    /// The domains that managed requirements name.
    pub network: Option<TurnContextNetwork>,
    /// The model.
    pub model: String,
    /// The style in which the model writes.
    pub personality: Option<Personality>,
    /// The collaboration mode.
    pub collaboration_mode: Option<CollaborationMode>,
    /// Whether there is a realtime conversation.
    pub realtime_active: Option<bool>,
    /// The reasoning effort.
    pub effort: Option<ReasoningEffort>,
    /// Which summary of its reasoning the model should give.
    #[serde(default = "auto")]
    pub summary: ReasoningSummary,
    /// Instructions of the user.
    pub user_instructions: Option<String>,
    /// Instructions of the client.
    pub developer_instructions: Option<String>,
    /// The JSON Schema that the answer should follow.
    pub final_output_json_schema: Option<Value>,
    /// The limit for outputs of tools.
    pub truncation_policy: Option<TruncationPolicy>,
    /// The limits of the thread; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Box<ThreadLimits>>,
    /// The limits of this turn alone; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_limits: Option<UsageLimits>,
    /// The ids of the plugins that are switched off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disabled_plugin_ids: Vec<String>,
    /// The ids of the apps that the user has mentioned in the thread. Only this program writes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentioned_apps: Vec<String>,
    /// Whether the model could neither run commands nor work on files. Only this program writes it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_environment: bool,
    /// The environments of the turn; empty for this machine alone. Only this program writes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environments: Vec<EnvironmentChoice>,
}

/// The domains that managed requirements name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnContextNetwork {
    /// Those that may be reached.
    pub allowed_domains: Vec<String>,
    /// Those that may not.
    pub denied_domains: Vec<String>,
}

/// The limit for outputs of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruncationPolicy {
    /// The unit of the limit.
    pub mode: TruncationMode,
    /// The limit.
    pub limit: u64,
}

/// The unit of an output limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TruncationMode {
    /// Bytes.
    Bytes,
    /// Tokens, as estimated.
    Tokens,
}

fn auto() -> ReasoningSummary {
    ReasoningSummary::Auto
}
