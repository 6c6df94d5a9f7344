//! The effective configuration: typed, defaults applied, limits enforced.
//!
//! Precedence, highest first: limits, parameters of the request, what the administrator manages, flags,
//! the chosen profile, files, defaults.

mod agents;
mod build;
mod instructions;
mod model;
mod permissions;
mod policy;
mod provider;
mod services;
mod shell_environment;
mod tools;

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use codex_protocol::ApprovalsReviewer;
use codex_protocol::AskForApproval;
use codex_protocol::Personality;
use codex_protocol::Provider;
use codex_protocol::ServiceTier;

pub use agents::AgentRole;
pub use agents::AgentSettings;
pub(crate) use build::decode_file;
pub use instructions::Instructions;
pub use model::ModelCatalog;
pub use model::ModelSettings;
pub use permissions::FileEntry;
pub use permissions::FileTarget;
pub use permissions::NamedPermissions;
pub use policy::PolicySettings;
pub use services::AccountSettings;
pub use services::GhostSnapshotSettings;
pub use services::MemorySettings;
pub use services::OtelSettings;
pub use services::RealtimeSettings;
pub use services::StorageSettings;
pub use services::TelemetrySettings;
pub use shell_environment::ShellEnvironmentPolicy;
pub use tools::McpSettings;
pub use tools::ToolSettings;

use crate::environment::Environment;
use crate::error::ConfigError;
use crate::features::DeprecationNotice;
use crate::features::Feature;
use crate::features::FeatureSet;
use crate::overrides::Overrides;
use crate::project_docs::ProjectDocSettings;
use crate::requirements::Requirements;
use crate::schema::SandboxMode;
use crate::stack::LayerStack;
use crate::trust::TrustLevel;
use crate::warning::ConfigWarning;

/// Everything the engine needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// The home folder.
    pub home: PathBuf,
    /// The model and how it is asked.
    pub model: ModelSettings,
    /// The model providers by id.
    pub providers: BTreeMap<String, Provider>,
    /// What the model is told.
    pub instructions: Instructions,
    /// How AGENTS.md files are found.
    pub project_docs: ProjectDocSettings,
    /// What may be done, and when somebody is asked.
    pub policy: PolicySettings,
    /// The environment of commands.
    pub shell_environment: ShellEnvironmentPolicy,
    /// Built-in tools, skills, plugins, apps.
    pub tools: ToolSettings,
    /// MCP servers.
    pub mcp: McpSettings,
    /// Sub-agents.
    pub agents: AgentSettings,
    /// Voice conversations.
    pub realtime: RealtimeSettings,
    /// Logins and the backend.
    pub account: AccountSettings,
    /// What is kept where.
    pub storage: StorageSettings,
    /// What is reported.
    pub telemetry: TelemetrySettings,
    /// Which features are on.
    pub features: FeatureSet,
    /// The chosen profile.
    pub profile: Option<String>,
    /// What the user decided about the project.
    pub trust: Option<TrustLevel>,
    /// All folders whose settings would take effect for somebody who works there.
    pub trusted_folders: Vec<PathBuf>,
    /// The folders with rules for commands, lowest precedence first. A project's are among them only
    /// once it is trusted.
    pub rule_folders: Vec<PathBuf>,
    /// The limits in force, for changes at run time.
    pub requirements: Requirements,
    /// Program started after each turn, with its first arguments.
    pub notify: Option<Vec<String>>,
    /// Whether raw reasoning is passed on.
    pub show_raw_reasoning: bool,
    /// Whether summaries of reasoning are kept back.
    pub hide_reasoning: bool,
    /// Settings to write differently, for each new thread.
    pub deprecations: Vec<DeprecationNotice>,
    /// What is odd about the settings.
    pub warnings: Vec<ConfigWarning>,
}

/// What a request says explicitly.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestParams {
    /// The model.
    pub model: Option<String>,
    /// The id of the provider.
    pub model_provider: Option<String>,
    /// When somebody is asked.
    pub approval_policy: Option<AskForApproval>,
    /// Who is asked.
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// What commands may touch.
    pub sandbox_mode: Option<SandboxMode>,
    /// The class of service.
    pub service_tier: Option<ServiceTier>,
    /// The style of the model.
    pub personality: Option<Personality>,
    /// Instructions in place of the built-in ones.
    pub base_instructions: Option<String>,
    /// Further instructions.
    pub developer_instructions: Option<String>,
    /// Instructions for compaction.
    pub compact_prompt: Option<String>,
}

/// What to load configuration for.
#[derive(Clone, Copy, Debug)]
pub struct LoadRequest<'a> {
    /// The surroundings.
    pub env: &'a Environment,
    /// The working folder, an absolute path.
    pub cwd: Option<&'a Path>,
    /// Flags of the command line, followed by the settings of the request.
    pub flags: &'a Overrides,
    /// What the request says explicitly.
    pub params: &'a RequestParams,
    /// What the host application switched while running. Settings beat it.
    pub host_features: &'a BTreeMap<Feature, bool>,
}

impl Config {
    /// Reads all layers and makes the configuration of them.
    pub fn load(request: LoadRequest<'_>) -> Result<Self, ConfigError> {
        let stack = LayerStack::load(request.env, request.cwd, request.flags)?;
        Self::from_stack(&stack, request)
    }

    /// Makes the configuration of a server whose files cannot be used: defaults and flags. Limits that
    /// can be read hold all the same.
    pub fn without_files(request: LoadRequest<'_>) -> Result<Self, ConfigError> {
        let stack = LayerStack::without_files(request.env, request.cwd, request.flags);
        Self::from_stack(&stack, request)
    }

    /// Makes the configuration of layers that are already read.
    pub fn from_stack(stack: &LayerStack, request: LoadRequest<'_>) -> Result<Self, ConfigError> {
        build::build(stack, request)
    }
}
