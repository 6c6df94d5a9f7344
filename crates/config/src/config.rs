//! The effective configuration: typed, with defaults applied and requirements enforced.
//!
//! Precedence, highest first: requirements, request parameters, managed settings, flags, the chosen profile, files,
//! defaults.

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

/// All settings of the engine.
#[derive(Clone, Debug)]
pub struct Config {
    pub home: PathBuf,
    /// The model and its parameters.
    pub model: ModelSettings,
    /// The model providers by id.
    pub providers: BTreeMap<String, Provider>,
    /// Instructions for the model.
    pub instructions: Instructions,
    /// Settings for finding AGENTS.md files.
    pub project_docs: ProjectDocSettings,
    /// Approval policy, sandbox and web search.
    pub policy: PolicySettings,
    /// The environment variables of commands.
    pub shell_environment: ShellEnvironmentPolicy,
    /// Built-in tools, skills, plugins, apps.
    pub tools: ToolSettings,
    pub mcp: McpSettings,
    /// Limits and roles of agents.
    pub agents: AgentSettings,
    /// Settings of voice conversations.
    pub realtime: RealtimeSettings,
    /// Settings of logins and the backend.
    pub account: AccountSettings,
    /// Settings of files on disk.
    pub storage: StorageSettings,
    /// Settings of telemetry and feedback.
    pub telemetry: TelemetrySettings,
    /// The enabled features.
    pub features: FeatureSet,
    /// The chosen profile.
    pub profile: Option<String>,
    /// Whether the user trusts the project.
    pub trust: Option<TrustLevel>,
    /// All folders whose project settings take effect for anyone who works there.
    pub trusted_folders: Vec<PathBuf>,
    /// The folders with rules files, lowest precedence first. A project's folders are included only if it is trusted.
    pub rule_folders: Vec<PathBuf>,
    /// The requirements in force, for changes at run time.
    pub requirements: Requirements,
    /// The program to start after each turn, and its first arguments.
    pub notify: Option<Vec<String>>,
    /// Whether raw reasoning is sent to clients.
    pub show_raw_reasoning: bool,
    /// Whether reasoning summaries are withheld from clients.
    pub hide_reasoning: bool,
    /// Deprecated settings in use, reported for each new thread.
    pub deprecations: Vec<DeprecationNotice>,
    /// Problems in the settings that do not prevent loading.
    pub warnings: Vec<ConfigWarning>,
}

/// The parameters of a request that override settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestParams {
    /// The model.
    pub model: Option<String>,
    /// The id of the provider.
    pub model_provider: Option<String>,
    /// The approval policy.
    pub approval_policy: Option<AskForApproval>,
    /// Who reviews approvals.
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// The sandbox mode.
    pub sandbox_mode: Option<SandboxMode>,
    /// The service tier.
    pub service_tier: Option<ServiceTier>,
    /// The personality of the model.
    pub personality: Option<Personality>,
    /// Replaces the built-in instructions.
    pub base_instructions: Option<String>,
    /// Additional instructions.
    pub developer_instructions: Option<String>,
    /// Replaces the instructions for compaction.
    pub compact_prompt: Option<String>,
}

/// What to load the configuration for.
#[derive(Clone, Copy, Debug)]
pub struct LoadRequest<'a> {
    pub env: &'a Environment,
    /// The working folder, as an absolute path.
    pub cwd: Option<&'a Path>,
    /// Command line flags, followed by the settings of the request.
    pub flags: &'a Overrides,
    /// Parameters of the request.
    pub params: &'a RequestParams,
    /// Features that the host application switched at run time. Settings take precedence.
    pub host_features: &'a BTreeMap<Feature, bool>,
}

impl Config {
    /// Reads all layers and builds the configuration.
    pub fn load(request: LoadRequest<'_>) -> Result<Self, ConfigError> {
        let stack = LayerStack::load(request.env, request.cwd, request.flags)?;
        Self::from_stack(&stack, request)
    }

    /// Builds the configuration of a server whose files cannot be used, from defaults and flags. Requirements that can be
    /// read still apply.
    pub fn without_files(request: LoadRequest<'_>) -> Result<Self, ConfigError> {
        let stack = LayerStack::without_files(request.env, request.cwd, request.flags);
        Self::from_stack(&stack, request)
    }

    /// Builds the configuration from layers that are already read.
    pub fn from_stack(stack: &LayerStack, request: LoadRequest<'_>) -> Result<Self, ConfigError> {
        build::build(stack, request)
    }
}
