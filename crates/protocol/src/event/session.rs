//! Events about a session, and replies to requests for lists.

use codex_app_server_protocol_macros::sparse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EventMsg;
use crate::ids::ThreadId;
use crate::policy::{ApprovalsReviewer, AskForApproval, SandboxPolicy};
use crate::settings::{ReasoningEffort, ServiceTier};

/// The session is configured.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionConfiguredEvent {
    pub session_id: ThreadId,
    /// The thread that it was forked from.
    pub forked_from_id: Option<ThreadId>,
    /// The name, if any.
    pub thread_name: Option<String>,
    pub model: String,
    /// The provider of the model.
    pub model_provider_id: String,
    /// The service tier of requests.
    pub service_tier: Option<ServiceTier>,
    /// The approval policy.
    pub approval_policy: AskForApproval,
    /// The reviewer of approvals.
    #[serde(default)]
    pub approvals_reviewer: ApprovalsReviewer,
    /// The sandbox policy.
    pub sandbox_policy: SandboxPolicy,
    /// The working directory.
    pub cwd: String,
    /// The reasoning effort.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The id of the message history file.
    pub history_log_id: u64,
    /// The number of entries.
    pub history_entry_count: usize,
    /// The stored events of a resumed or forked thread.
    pub initial_messages: Option<Vec<EventMsg>>,
    /// The addresses of the managed network proxy.
    pub network_proxy: Option<SessionNetworkProxy>,
    /// The rollout file; absent if the thread is not recorded.
    pub rollout_path: Option<String>,
}

/// The addresses of the managed network proxy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionNetworkProxy {
    /// The address for HTTP.
    pub http_addr: String,
    /// The address for SOCKS.
    pub socks_addr: String,
}

/// The name of the thread changed.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadNameUpdatedEvent {
    pub thread_id: ThreadId,
    /// The new name.
    pub thread_name: Option<String>,
}

/// A requested entry of the message history.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetHistoryEntryResponseEvent {
    /// The index of the entry, from the oldest one.
    pub offset: usize,
    /// The id of the file.
    pub log_id: u64,
    /// The entry; absent if there is none.
    pub entry: Option<HistoryEntry>,
}

/// An entry of the message history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// The thread that received the input.
    #[serde(alias = "session_id")]
    pub conversation_id: String,
    /// The time in Unix seconds.
    pub ts: u64,
    /// The input.
    pub text: String,
}

/// The requested custom prompts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListCustomPromptsResponseEvent {
    /// The prompts.
    pub custom_prompts: Vec<CustomPrompt>,
}

/// A custom prompt of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomPrompt {
    pub name: String,
    /// The path of its file.
    pub path: String,
    /// Its text, without the front matter.
    pub content: String,
    /// The purpose.
    pub description: Option<String>,
    /// A hint about the arguments.
    pub argument_hint: Option<String>,
}

/// The requested skills.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListSkillsResponseEvent {
    /// An entry for each requested folder.
    pub skills: Vec<SkillsListEntry>,
}

/// The skills that apply in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillsListEntry {
    /// The folder.
    pub cwd: String,
    /// The skills.
    pub skills: Vec<SkillMetadata>,
    /// Skill files that could not be read.
    pub errors: Vec<SkillErrorInfo>,
}

/// A skill that is missing from the list, or a working folder that could not be searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillErrorInfo {
    /// The `SKILL.md` or the working folder.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

/// The metadata of a skill, without its body.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillMetadata {
    pub name: String,
    /// The purpose.
    pub description: String,
    /// A short description.
    pub short_description: Option<String>,
    /// The display of the skill.
    pub interface: Option<SkillInterface>,
    /// The dependencies of the skill.
    pub dependencies: Option<SkillDependencies>,
    /// The path of its `SKILL.md`.
    pub path: String,
    /// The scope.
    pub scope: SkillScope,
    /// Whether it is enabled.
    pub enabled: bool,
}

/// The display of a skill.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillInterface {
    /// Its name for display.
    pub display_name: Option<String>,
    /// A short description.
    pub short_description: Option<String>,
    /// The path of a small icon.
    pub icon_small: Option<String>,
    /// The path of a large icon.
    pub icon_large: Option<String>,
    /// Its colour.
    pub brand_color: Option<String>,
    /// A prompt to start with.
    pub default_prompt: Option<String>,
}

/// The dependencies of a skill.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillDependencies {
    /// The tools that it needs.
    pub tools: Vec<SkillToolDependency>,
}

/// A tool that a skill needs.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillToolDependency {
    /// The kind of the dependency, for example `mcp`.
    pub r#type: String,
    pub value: String,
    /// The purpose.
    pub description: Option<String>,
    /// The transport.
    pub transport: Option<String>,
    /// The command that starts it.
    pub command: Option<String>,
    /// The URL that it is reached at.
    pub url: Option<String>,
}

/// Who put a skill there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillScope {
    /// The user: in a home folder, an installed plugin or a folder named by the client.
    User,
    /// The project: between its root and the working folder.
    Repo,
    /// This program, which brings some along.
    System,
    /// The administrator, for everybody on the machine.
    Admin,
}

/// A notice that a setting is deprecated.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeprecationNoticeEvent {
    /// A one-sentence summary.
    pub summary: String,
    /// Instructions for the user.
    pub details: Option<String>,
}

/// A message about background work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundEventEvent {
    pub message: String,
}
