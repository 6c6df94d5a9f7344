//! From configuration to an engine: where requests go, who sends them, and what a session starts with.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_app_server::ClientName;
use codex_config::schema::{CredentialsStore, HistoryPersistence};
use codex_config::{Config, ConfigWarning, Environment, Feature, LoadRequest, Overrides};
use codex_config::{ProjectDocSettings, RequestParams, Requirements, Variables, resolve_home};
use codex_core::{
    AgentSettings, Features, InstructionFiles, Limits, MessageHistory, Observers, Ports,
    SessionConfig, Snapshots, ThreadManager, WebSearch,
};
use codex_login::{LoginSettings, StoreKind};
use codex_model_client::{ClientIdentity, ModelCatalog, Platform};
use codex_protocol::{AskForApproval, Provider, SandboxPolicy, WebSearchMode};
use codex_rollout_trace::format::ROOT_VARIABLE;
use codex_session_trace::Traces;

use crate::environment::{self, variable};
use crate::mcp_servers;
use crate::rules::rules;

/// The name of the provider of the hosted API.
const HOSTED: &str = "OpenAI";

pub(crate) const ORIGINATOR: &str = "codex_cli_rs";

/// The home folder of the engine.
pub(crate) fn home() -> anyhow::Result<PathBuf> {
    let variable = |name: &str| std::env::var(name).ok();
    let user_home = variable("HOME").map(PathBuf::from);
    Ok(resolve_home(
        variable("CODEX_HOME").as_deref(),
        user_home.as_deref(),
    )?)
}

/// The home folder of the user.
pub(crate) fn user_home() -> Option<PathBuf> {
    let set = ["HOME", "USERPROFILE"].map(std::env::var_os);
    set.into_iter().flatten().map(PathBuf::from).next()
}

/// The folder with the settings of everybody on the machine.
#[cfg(unix)]
const SYSTEM_FOLDER: &str = "/etc/codex";

/// What configuration depends on.
pub(crate) fn surroundings() -> anyhow::Result<Environment> {
    let mut env = Environment::with_home(home()?);
    env.user_home = std::env::var("HOME").ok().map(PathBuf::from);
    env.variables = Variables::from_lookup(variable);
    #[cfg(unix)]
    {
        env.system_folder = Some(PathBuf::from(SYSTEM_FOLDER));
        env.managed_config_file = Some(Path::new(SYSTEM_FOLDER).join("managed_config.toml"));
    }
    Ok(env)
}

/// Reads the configuration for a folder, if there is one, and what a request says.
pub(crate) fn load_config(
    cwd: Option<&Path>,
    flags: &Overrides,
    params: &RequestParams,
) -> anyhow::Result<Config> {
    let request = LoadRequest {
        env: &surroundings()?,
        cwd,
        flags,
        params,
        host_features: &BTreeMap::new(),
    };
    Ok(Config::load(request)?)
}

/// The value of a variable, unless it is unset or blank.
pub(crate) fn non_blank(name: &str) -> Option<String> {
    variable(name).filter(|value| !value.trim().is_empty())
}

/// Where logins lead to: the hosted service, unless variables name another one.
pub(crate) fn login_settings(config: &Config) -> LoginSettings {
    let mut settings = LoginSettings::hosted(&config.home);
    settings.store = match config.account.credentials_store {
        CredentialsStore::File => StoreKind::File,
        CredentialsStore::Keyring => StoreKind::Keyring,
        CredentialsStore::Auto => StoreKind::Auto,
        CredentialsStore::Ephemeral => StoreKind::Ephemeral,
    };
    settings.forced_method = config.account.forced_login_method;
    settings.forced_workspace = config.account.forced_workspace.clone();
    settings.backend_url = config.account.chatgpt_base_url.clone();
    settings.refresh_url = non_blank("CODEX_REFRESH_TOKEN_URL_OVERRIDE");
    settings.revoke_url = non_blank("CODEX_REVOKE_TOKEN_URL_OVERRIDE");
    if let Some(issuer) = non_blank("CODEX_LOGIN_ISSUER") {
        settings.issuer = issuer.trim_end_matches('/').to_owned();
    }
    if let Some(id) = non_blank("CODEX_LOGIN_CLIENT_ID") {
        settings.client_id = id;
    }
    if let Some(port) = non_blank("CODEX_LOGIN_PORT").and_then(|port| port.parse().ok()) {
        settings.callback_port = port;
    }
    settings
}

/// Who this program is to a provider.
pub(crate) fn identity(originator: &str, client: Option<&ClientName>) -> ClientIdentity {
    let platform = Platform {
        os: std::env::consts::OS,
        os_version: "unknown",
        architecture: std::env::consts::ARCH,
        terminal: "unknown",
    };
    let client = client.map(|client| (client.name.as_str(), client.version.as_str()));
    ClientIdentity::new(originator, env!("CARGO_PKG_VERSION"), platform, client)
}

/// How long the end of the process waits for the disk to take what was traced.
const TRACE_PATIENCE: Duration = Duration::from_secs(5);

/// The traces of this process, if they are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracing(Option<Arc<Traces>>);

impl Tracing {
    pub(crate) fn from_environment() -> Self {
        let root = std::env::var_os(ROOT_VARIABLE).filter(|root| !root.is_empty());
        Self(root.map(|root| Arc::new(Traces::below(root))))
    }

    /// An engine whose threads are traced.
    pub(crate) fn engine(&self, ports: Ports) -> ThreadManager {
        let traces = self.0.clone();
        ThreadManager::new(ports).observed_by(traces.map(|traces| traces as Arc<dyn Observers>))
    }

    /// Waits until everything is written, but not for long.
    pub(crate) fn finish(&self) {
        if let Some(traces) = &self.0
            && !traces.flush(TRACE_PATIENCE)
        {
            tracing::warn!("the end of a trace is not written");
        }
    }
}

/// A configured provider, with the header by which the hosted API knows our version.
pub(crate) fn provider(configured: &Provider) -> Provider {
    let mut provider = configured.clone();
    if provider.name == HOSTED {
        let headers = &mut provider.http_headers;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        headers.entry("version".to_owned()).or_insert(version);
    }
    provider
}

/// Has requests handled where an administrator wants them to be.
pub(crate) fn require_residency(provider: &mut Provider, config: &Config) {
    if config.requirements.residency.is_some() {
        let name = "x-openai-internal-codex-residency".to_owned();
        provider.http_headers.insert(name, "us".to_owned());
    }
}

/// What a session starts with, and what is wrong with the files that it comes from. Reads files. `chatgpt` is whether
/// there is a ChatGPT login, which some models need.
pub(crate) fn session_config(
    config: &Config,
    cwd: &Path,
    catalog: &ModelCatalog,
    chatgpt: bool,
) -> (SessionConfig, Vec<ConfigWarning>) {
    let preset = catalog.default_model(chatgpt);
    let preset = preset.map(|model| model.slug.clone());
    let model = config.model.model.clone().or(preset).unwrap_or_default();
    let mut session = SessionConfig::new(&config.home, cwd, &model);
    session.settings.provider = config.model.provider_id.clone();
    session.review_model = config.model.review_model.clone();
    session.settings.effort = config.model.reasoning_effort.clone();
    session.settings.summary = config.model.reasoning_summary;
    session.verbosity = config.model.verbosity;
    session.settings.service_tier = config.model.service_tier.clone();
    session.settings.personality = config.model.personality;
    session.context_window = config.model.context_window;
    session.auto_compact_limit = config.model.auto_compact_token_limit;
    session.tool_output_tokens = config.model.tool_output_token_limit;
    session.settings.approval_policy = config.policy.approval_policy;
    session.settings.approvals_reviewer = config.policy.approvals_reviewer;
    session.settings.sandbox_policy = config.policy.sandbox_policy.clone();
    session.limits = Some(Arc::new(AdministratorLimits(config.requirements.clone())));
    session.allow_login_shell = config.policy.allow_login_shell;
    session.base_instructions = config.instructions.base.clone();
    session.developer_instructions = config.instructions.developer.clone();
    session.compact_prompt = config.instructions.compact_prompt.clone();
    session.mcp_servers = mcp_servers::enabled(config);
    session.instruction_files = Some(Arc::new(ProjectInstructions {
        home: config.home.clone(),
        settings: config.project_docs.clone(),
    }));
    session.read_instructions();
    session.web_search = WebSearch {
        mode: config.policy.web_search,
        live_with_full_access: config
            .requirements
            .check_web_search(WebSearchMode::Live)
            .is_ok(),
        options: config.policy.web_search_options.clone(),
    };
    session.message_history = MessageHistory {
        keep: config.storage.history.persistence == HistoryPersistence::SaveAll,
        max_bytes: config.storage.history.max_bytes,
    };
    session.features = features(config);
    session.agents = agents(config);
    session.environment = Arc::new(command_environment(config));
    session.shell = shell();
    session.stream_max_retries = config.model.provider.stream_max_retries;
    session.snapshots = snapshots(config);
    session.show_raw_reasoning = config.show_raw_reasoning;
    session.originator = ORIGINATOR.to_owned();
    let (rules, warnings) = rules(config);
    session.rules = rules;
    (session, warnings)
}

/// The AGENTS.md files of the home folder and of projects.
#[derive(Debug)]
struct ProjectInstructions {
    home: PathBuf,
    settings: ProjectDocSettings,
}

impl InstructionFiles for ProjectInstructions {
    fn read(&self, cwd: &Path) -> Option<String> {
        let docs = self.settings.read(&self.home, cwd);
        if let Some(error) = docs.error {
            tracing::warn!(cwd = %cwd.display(), %error, "cannot read the project's instructions");
        }
        docs.text
    }
}

/// The limits of the configuration, as the engine asks for them.
#[derive(Debug)]
struct AdministratorLimits(Requirements);

impl Limits for AdministratorLimits {
    fn check(&self, approval: AskForApproval, sandbox: &SandboxPolicy) -> Result<(), String> {
        let requirements = &self.0;
        let checked = requirements
            .check_approval_policy(approval)
            .and_then(|()| requirements.check_sandbox_policy(sandbox));
        checked.map_err(|violation| violation.to_string())
    }
}

fn features(config: &Config) -> Features {
    let on = |feature| config.features.enabled(feature);
    Features {
        shell_tool: on(Feature::ShellTool),
        unified_exec: on(Feature::UnifiedExec),
        apply_patch_freeform: on(Feature::ApplyPatchFreeform),
        request_permissions: on(Feature::RequestPermissionsTool),
        exec_permissions: on(Feature::ExecPermissionApprovals),
        default_mode_questions: on(Feature::DefaultModeRequestUserInput),
    }
}

/// The agents that the model may start, if it may.
fn agents(config: &Config) -> Option<AgentSettings> {
    let settings = &config.agents;
    let is_on = config.features.enabled(Feature::MultiAgent);
    is_on.then(|| AgentSettings {
        max_threads: usize::try_from(settings.max_threads).unwrap_or(usize::MAX),
        max_depth: i32::try_from(settings.max_depth).unwrap_or(i32::MAX),
        roles: None,
    })
}

/// What undo goes back to, if it is on.
fn snapshots(config: &Config) -> Option<Snapshots> {
    let settings = config.storage.ghost_snapshot;
    let is_on = config.features.enabled(Feature::Undo);
    is_on.then_some(Snapshots {
        max_file_bytes: settings.max_untracked_file_bytes,
        max_folder_files: settings.max_untracked_dir_files,
        quiet: settings.disable_warnings,
    })
}

/// The variables of commands. Names and values that are no text are left out.
pub(crate) fn command_environment(config: &Config) -> BTreeMap<OsString, OsString> {
    let variables = config.shell_environment.apply(environment::all(), None);
    variables
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// The user's shell, if it is one whose scripts can be read.
fn shell() -> PathBuf {
    let known = |path: &PathBuf| {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        matches!(stem, Some("bash" | "zsh" | "sh")) && path.exists()
    };
    let own = variable("SHELL").map(PathBuf::from).filter(known);
    let usual = ["/bin/bash", "/bin/zsh"]
        .map(PathBuf::from)
        .into_iter()
        .find(known);
    own.or(usual).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}
