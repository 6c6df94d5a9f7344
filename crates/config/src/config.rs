//! The effective configuration: typed, with defaults applied and requirements enforced.
//!
//! Precedence, highest first: requirements, request parameters, managed settings, flags, the chosen profile, files,
//! defaults.

mod agents;
mod code_mode;
mod decode_file;
mod environments;
mod instructions;
mod lost_restrictions;
mod memories;
mod model;
mod network;
mod permission_policy;
mod permissions;
mod plugins;
mod policy;
mod provider;
mod request;
mod secrets;
mod services;
mod shell_environment;
mod team;
mod tools;

use std::collections::BTreeMap;
use std::path::PathBuf;

use codex_protocol::{Provider, Release, ThreadLimits};

pub use crate::schema::{ContainerEngine, EnvironmentInherit};
pub use agents::{AgentRole, AgentSettings};
pub use code_mode::CodeModeSettings;
pub(crate) use decode_file::decode_file;
pub use environments::{EnvironmentSettings, MachineReach};
pub use instructions::{Instructions, SectionSettings};
pub use memories::MemorySettings;
pub use model::{ModelCatalog, ModelSettings};
pub use permissions::ConfiguredPermissions;
pub use plugins::PluginSettings;
pub use policy::PolicySettings;
pub use provider::is_unconfigured_server;
pub use request::{LoadRequest, RequestParams};
pub use secrets::SecretSettings;
pub use services::{AccountSettings, RealtimeConfig, StorageSettings, TelemetrySettings};
pub use shell_environment::{ShellEnvironmentPolicy, VariablesElsewhere};
pub use team::TeamSettings;
pub use tools::{McpSettings, ToolSettings};

use crate::error::ConfigError;
use crate::feature_levels::{DeprecationNotice, FeatureLevel, deprecation_notices, resolve};
use crate::features::FeatureSet;
use crate::project_docs::ProjectDocSettings;
use crate::requirements::{RequirementViolation, Requirements};
use crate::restrictions::{self, DEFAULT_PERMISSIONS};
use crate::schema::{AppsFile, ClientRelease, Discoverable};
use crate::stack::{LayerStack, MergedTables};
use crate::trust::TrustLevel;
use crate::unknown_settings;
use crate::unknown_values::DecodedSettings;
use crate::warning;
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
    /// Settings of skills.
    pub tools: ToolSettings,
    pub mcp: McpSettings,
    /// Other machines that threads can work on.
    pub environments: BTreeMap<String, EnvironmentSettings>,
    pub memories: MemorySettings,
    /// Settings of apps.
    pub apps: AppsFile,
    /// What the model may suggest to install.
    pub suggestions: Vec<Discoverable>,
    /// Settings of plugins and marketplaces.
    pub plugins: PluginSettings,
    /// Limits and roles of agents.
    pub agents: AgentSettings,
    /// Settings of agents that are addressed by path.
    pub team: TeamSettings,
    /// Settings of logins and the backend.
    pub account: AccountSettings,
    /// Settings of files on disk.
    pub storage: StorageSettings,
    /// Which files are hidden from models and their commands.
    pub secrets: SecretSettings,
    /// Settings of realtime conversations.
    pub realtime: RealtimeConfig,
    /// Settings of feedback.
    pub telemetry: TelemetrySettings,
    /// Settings of scripts of the model.
    pub code_mode: CodeModeSettings,
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
    /// The release of clients that do not say theirs.
    pub client_release: Option<Release>,
    /// The user's instructions of the reviewer of approvals.
    pub reviewer_policy: Option<String>,
    /// Limits on what threads may use.
    pub limits: ThreadLimits,
    /// Whether raw reasoning is sent to clients.
    pub show_raw_reasoning: bool,
    /// Deprecated settings in use, reported for each new thread.
    pub deprecations: Vec<DeprecationNotice>,
    /// Problems in the settings that do not prevent loading.
    pub warnings: Vec<ConfigWarning>,
}

impl Config {
    /// Reads all layers and builds the configuration.
    pub fn load(request: LoadRequest<'_>) -> Result<Self, ConfigError> {
        let stack = LayerStack::load(request.env, request.cwd, request.flags)?;
        Self::from_stack(&stack, request)
    }

    /// Builds the configuration of a server whose files cannot be used, from defaults and flags. Requirements and
    /// restrictions that can be read still apply; where one cannot be read, what it is about is closed.
    pub fn without_files(request: LoadRequest<'_>) -> Result<Self, ConfigError> {
        let (stack, mut unknown) =
            LayerStack::without_files(request.env, request.cwd, request.flags);
        let mut config = match Self::from_stack(&stack, request) {
            Ok(config) => config,
            Err(error) => {
                // Named permissions are the only restrictions that can contradict each other.
                unknown.reading.get_or_insert(error.to_string());
                Self::from_stack(&stack.without_permissions_of_files(), request)?
            }
        };
        if !request.flags.table().contains_key(DEFAULT_PERMISSIONS) {
            config.policy.keep_only_reading_of_permissions();
        }
        if unknown.variables.is_some() {
            config.shell_environment = ShellEnvironmentPolicy::least();
        }
        config.account.unknown_restriction = unknown.logins;
        config.secrets.unknown = unknown.reading;
        if let Some(limit) = network::limit_of_unusable(request) {
            config.policy.network_limits.add(limit);
        }
        Ok(config)
    }

    /// Builds the configuration from layers that are already read.
    pub fn from_stack(stack: &LayerStack, request: LoadRequest<'_>) -> Result<Self, ConfigError> {
        let tables = match stack.around_profile() {
            Ok(tables) => tables,
            Err(error) => {
                // An error in the type of a setting is more useful than errors that follow from it.
                decode_file(stack, &stack.merged())?;
                return Err(error);
            }
        };
        let merged = tables.merge();
        let DecodedSettings {
            mut file,
            unknown_keys,
            warnings: unknown_values,
        } = decode_file(stack, &merged)?;
        restrictions::refuse_misspelt(stack)?;
        if request.flags.requires_known_settings() {
            unknown_settings::refuse(stack, &unknown_keys)?;
        }
        let features = features_of(stack, &tables, request)?;
        let mut warnings = Vec::from_iter(warning::disabled_projects(stack));
        let ignored = lost_restrictions::close(&mut file, stack, unknown_keys, &mut warnings);
        warnings.extend(warning::unknown_keys(stack, &ignored));
        warnings.extend(warning::without_effect(stack));
        warnings.extend(unknown_values);
        warnings.extend(warning::withheld_keys(stack));
        let policy = policy::resolve(stack, &tables, &file, request, features, &mut warnings)?;
        let providers = provider::providers(&file, request.env, &mut warnings)?;
        let model = model::resolve(&file, request, &providers, features)?;
        let roles = agents::roles(&file, &mut warnings);
        let environments = environments::environments(&file, &mut warnings);
        Ok(Self {
            home: request.env.codex_home.clone(),
            instructions: Instructions::resolve(&file, request.params)?,
            project_docs: ProjectDocSettings::from_file(&file),
            shell_environment: ShellEnvironmentPolicy::from_file(&file.shell_environment_policy),
            tools: ToolSettings::resolve(stack, &file),
            mcp: tools::mcp_settings(&file, stack.requirements()),
            environments,
            memories: MemorySettings::from_file(&file),
            apps: file.apps.clone().unwrap_or_default(),
            suggestions: (file.tool_suggest.clone())
                .unwrap_or_default()
                .discoverables,
            plugins: PluginSettings::resolve(stack),
            agents: AgentSettings::resolve(&file, roles)?,
            team: TeamSettings::resolve(&merged, &file, features)?,
            code_mode: CodeModeSettings::resolve(&merged)?,
            account: services::account(&file),
            storage: services::storage(&file, request),
            secrets: SecretSettings::resolve(&file, stack.requirements(), request)?,
            realtime: services::realtime(&file),
            telemetry: services::telemetry(&file),
            profile: file.profile.clone(),
            trust: stack.trust(),
            trusted_folders: stack.trusted_folders().to_vec(),
            rule_folders: stack.rule_folders().collect(),
            requirements: stack.requirements().clone(),
            notify: file.notify.clone().filter(|command| !command.is_empty()),
            client_release: file.client_release.map(|ClientRelease(release)| release),
            reviewer_policy: (file.auto_review.as_ref())
                .and_then(|review| review.policy.clone())
                .filter(|policy| !policy.trim().is_empty()),
            limits: file.limits,
            show_raw_reasoning: file.show_raw_agent_reasoning.unwrap_or(false),
            deprecations: deprecation_notices(&merged),
            model,
            providers,
            policy,
            features,
            warnings,
        })
    }
}

/// The features that are enabled by the layers of a stack.
fn features_of(
    stack: &LayerStack,
    tables: &MergedTables,
    request: LoadRequest<'_>,
) -> Result<FeatureSet, RequirementViolation> {
    let levels = [
        FeatureLevel::settings(&tables.below_profile),
        FeatureLevel::profile(&tables.profile),
        FeatureLevel::settings(&tables.above_profile),
    ];
    resolve(request.host_features, &levels, stack.requirements())
}
