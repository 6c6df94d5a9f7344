//! Events about a session as a whole, and answers to questions about its surroundings.

use codex_app_server_protocol_macros::sparse;
use serde::{Deserialize, Serialize};

use super::EventMsg;
use crate::ids::ThreadId;
use crate::policy::{ApprovalsReviewer, AskForApproval, SandboxPolicy};
use crate::settings::{ReasoningEffort, ServiceTier};

/// The session is there.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionConfiguredEvent {
    /// The thread.
    pub session_id: ThreadId,
    /// The thread that it was forked from.
    pub forked_from_id: Option<ThreadId>,
    /// Its name, if it has one.
    pub thread_name: Option<String>,
    /// The model.
    pub model: String,
    /// The provider of the model.
    pub model_provider_id: String,
    /// The class of service that requests ask for.
    pub service_tier: Option<ServiceTier>,
    /// When a person is asked.
    pub approval_policy: AskForApproval,
    /// Who answers approval requests.
    #[serde(default)]
    pub approvals_reviewer: ApprovalsReviewer,
    /// What the sandbox lets through.
    pub sandbox_policy: SandboxPolicy,
    /// The working directory.
    pub cwd: String,
    /// The reasoning effort.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Which message history file there is.
    pub history_log_id: u64,
    /// How many entries it has.
    pub history_entry_count: usize,
    /// What was persisted of a thread that is resumed or forked.
    pub initial_messages: Option<Vec<EventMsg>>,
    /// Where the managed network proxy listens.
    pub network_proxy: Option<SessionNetworkProxy>,
    /// The file that the thread is recorded in; absent if it is not recorded.
    pub rollout_path: Option<String>,
}

/// Where the managed network proxy listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionNetworkProxy {
    /// For HTTP.
    pub http_addr: String,
    /// For SOCKS.
    pub socks_addr: String,
}

/// The thread has another name.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadNameUpdatedEvent {
    /// The thread.
    pub thread_id: ThreadId,
    /// Its name now.
    pub thread_name: Option<String>,
}

/// An entry of the message history that was asked for.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetHistoryEntryResponseEvent {
    /// Which entry, counted from the oldest.
    pub offset: usize,
    /// In which file.
    pub log_id: u64,
    /// The entry, if it is there.
    pub entry: Option<HistoryEntry>,
}

/// An entry of the message history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// The thread that it was typed into.
    #[serde(alias = "session_id")]
    pub conversation_id: String,
    /// When, in Unix seconds.
    pub ts: u64,
    /// What was typed.
    pub text: String,
}

/// The custom prompts that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListCustomPromptsResponseEvent {
    /// The prompts.
    pub custom_prompts: Vec<CustomPrompt>,
}

/// A prompt that a user has stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomPrompt {
    /// Its name.
    pub name: String,
    /// The path of its file.
    pub path: String,
    /// Its text, without the front matter.
    pub content: String,
    /// What it is for.
    pub description: Option<String>,
    /// Which arguments it takes.
    pub argument_hint: Option<String>,
}

/// The skills that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListSkillsResponseEvent {
    /// An entry for each folder that was asked about.
    pub skills: Vec<SkillsListEntry>,
}

/// The skills that hold in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillsListEntry {
    /// The folder.
    pub cwd: String,
    /// The skills.
    pub skills: Vec<SkillMetadata>,
    /// What could not be read.
    pub errors: Vec<SkillErrorInfo>,
}

/// A skill file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillErrorInfo {
    /// The path of the file.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

/// What is known about a skill without reading its body.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillMetadata {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What it is for, in a few words.
    pub short_description: Option<String>,
    /// How it is shown.
    pub interface: Option<SkillInterface>,
    /// What it needs.
    pub dependencies: Option<SkillDependencies>,
    /// The path of its `SKILL.md`.
    pub path: String,
    /// Whose it is.
    pub scope: SkillScope,
    /// Whether it may be used.
    pub enabled: bool,
}

/// How a skill is shown.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillInterface {
    /// Its name for display.
    pub display_name: Option<String>,
    /// What it is for, in a few words.
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

/// What a skill needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillDependencies {
    /// The tools that it needs.
    pub tools: Vec<SkillToolDependency>,
}

/// A tool that a skill needs.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillToolDependency {
    /// What kind of thing it is, for example `mcp`.
    pub r#type: String,
    /// Its name.
    pub value: String,
    /// What it is for.
    pub description: Option<String>,
    /// How it is reached.
    pub transport: Option<String>,
    /// The command that starts it.
    pub command: Option<String>,
    /// The URL that it is reached at.
    pub url: Option<String>,
}

/// Whose a skill is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillScope {
    /// The user's.
    User,
    /// The repository's.
    Repo,
    /// It comes with the engine.
    System,
    /// The administrator's.
    Admin,
}

/// Something in the configuration will go away.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeprecationNoticeEvent {
    /// What, in a sentence.
    pub summary: String,
    /// What to do about it.
    pub details: Option<String>,
}

/// Something happened in the background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundEventEvent {
    /// What.
    pub message: String,
}
