//! Converts the configuration to settings of a session.
//!
//! The configuration is destructured without `..`, so a new setting must be used here or listed as having no effect
//! ([`codex_config::WITHOUT_EFFECT`], repeated in docs/status/parts.md).

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_app_server::queued_by_others;
use codex_checkpoints::CheckpointStore;
use codex_config::schema::{HistoryPersistence, WindowsSandbox};
use codex_config::{
    AgentSettings as ConfiguredAgents, CodeModeSettings, Config, ConfigWarning, DeprecationNotice,
    Feature, FeatureSet, Instructions, ModelSettings, PolicySettings, ProjectDocSettings,
    ProjectDocs, Requirements, SandboxModeRequirement, StorageSettings,
    TeamSettings as ConfiguredTeam,
};
use codex_core::{
    AdministratorLimits, AgentJobs, AgentSettings, AllowedValues, CodeMode, CompactionRules,
    ContextSections, Features, InstructionFiles, JsRepl, MessageHistory, SandboxKind,
    SessionConfig, SessionIdentity, SessionOptions, SessionServices, TeamSettings, WebSearch,
};
use codex_model_client::{AgentsVersion, ModelCatalog, ModelInfo, ToolMode};
use codex_protocol::{SandboxPolicy, WebSearchMode};
use codex_sandbox::{EngineFiles, hiding_rules};
use codex_thread_state::ThreadState;

use crate::environment::variable;
use crate::notify::NotifyProgram;
use crate::program_checks::ProgramChecks;
use crate::rules::{SessionRules, rules};
use crate::scripted_model::{SCRIPTED_MODEL, SCRIPTED_PROVIDER};
use crate::user_shell::user_shell;
use crate::wiring::ORIGINATOR;
use crate::{checkpoints, engine_files, mcp_servers};

/// The default trailer of commits.
const COMMIT_AUTHOR: &str = "Codex <noreply@openai.com>";

/// The settings at the start of a session.
#[derive(Debug)]
pub struct SessionParts {
    pub config: SessionConfig,
    /// Warnings about the settings files.
    pub warnings: Vec<ConfigWarning>,
    /// Deprecated settings in use.
    pub deprecations: Vec<DeprecationNotice>,
}

/// Converts a configuration; reads files. `environment` is that of commands; `chatgpt` says whether there is a ChatGPT login, which some models require;
/// `engine_files` and `checkpoints` are those of the process.
pub fn session_parts(
    config: Config,
    environment: Arc<BTreeMap<OsString, OsString>>,
    cwd: &Path,
    catalog: &ModelCatalog,
    chatgpt: bool,
    engine_files: &EngineFiles,
    checkpoints: &Arc<CheckpointStore>,
) -> SessionParts {
    let checkpoint_options = checkpoints::options(&config);
    let unheld_patterns = unheld_patterns(&config);
    let SessionRules {
        rules,
        network_limits,
        mut warnings,
    } = rules(&config);
    let mut mcp_servers = mcp_servers::enabled(&config);
    let engine_files = Arc::new(engine_files::of_session(engine_files, &config));
    let checks = ProgramChecks::from_config(&config, cwd, &environment, &engine_files);
    checks.guard_servers(&mut mcp_servers);
    let Config {
        home,
        model,
        providers: _,
        instructions,
        project_docs,
        policy,
        shell_environment: _,
        // Skills are handled by the skill library.
        tools: _,
        mcp: _,
        // Other machines are registered by the host.
        environments: _,
        // Memories, apps and plugins are read by the host.
        memories: _,
        apps: _,
        plugins: _,
        agents,
        team,
        code_mode,
        account: _,
        storage,
        // Part of the engine files.
        secrets: _,
        // Realtime conversations are held by the host.
        realtime: _,
        telemetry: _,
        features,
        profile: _,
        trust: _,
        trusted_folders: _,
        rule_folders: _,
        requirements,
        notify,
        client_release: _,
        reviewer_policy,
        limits,
        show_raw_reasoning,
        deprecations,
        suggestions: _,
        warnings: own_warnings,
    } = config;
    warnings.extend(own_warnings);
    warnings.extend(unheld_patterns);
    let notify = notify.map(|command| NotifyProgram { command, checks });
    if let Some(Err(problem)) = notify.as_ref().map(NotifyProgram::check) {
        warnings.push(ConfigWarning::new(problem.to_string()));
    }
    let program = std::env::current_exe().ok();
    let has_jobs = features.enabled(Feature::EnableFanout);
    let mut session = SessionConfig {
        options: SessionOptions {
            agent_jobs: has_jobs.then(|| agent_jobs(&agents)),
            checkpoints: checkpoint_options,
            shell: user_shell(variable),
            show_raw_reasoning,
            rules,
            network_limits,
            ..SessionOptions::new(cwd, "")
        },
        services: SessionServices {
            mcp_servers,
            environment,
            engine_files: Arc::clone(&engine_files),
            kernel_program: program.clone().unwrap_or_default(),
            checkpoint_store: checkpoint_options.map(|_| Arc::clone(checkpoints)),
            thread_state: has_jobs.then(|| Arc::new(ThreadState::of_home(&home, queued_by_others))),
            turn_ended: notify.map(|program| Arc::new(program) as _),
            instruction_files: Some(Arc::new(ProjectInstructions {
                home: home.clone(),
                settings: project_docs,
                engine_files,
            })),
            ..SessionServices::new(home)
        },
        identity: SessionIdentity {
            originator: ORIGINATOR.to_owned(),
            ..SessionIdentity::default()
        },
    };
    session.options.settings.limits = limits;
    let preset = default_model(catalog, &model.provider_id, chatgpt);
    apply_model(&mut session, model, preset);
    let info = catalog.resolve(&session.options.settings.model).info;
    session.options.agents = self::agents(&agents, team, agents_version(&info, &features));
    apply_policy(&mut session, policy, &requirements);
    apply_instructions(&mut session, instructions, &features);
    apply_storage(&mut session, storage);
    if program.is_some() {
        session.options.code_mode = self::code_mode(&features, code_mode);
        session.options.js_repl = js_repl(&features);
    }
    session.options.features = self::features(features);
    let required = requirements.guardian_instructions.as_ref();
    let policy = required.map(|policy| policy.value.as_str());
    session.options.reviewer_policy = policy.or(reviewer_policy.as_deref()).map(str::to_owned);
    session.options.limits = administrator_limits(&requirements);
    session.read_instructions();
    SessionParts {
        config: session,
        warnings,
        deprecations,
    }
}

/// The model where the settings name none.
fn default_model<'a>(
    catalog: &'a ModelCatalog,
    provider: &str,
    chatgpt: bool,
) -> Option<&'a ModelInfo> {
    let scripted = || {
        catalog
            .models()
            .iter()
            .find(|model| model.slug == SCRIPTED_MODEL)
    };
    let scripted = (provider == SCRIPTED_PROVIDER).then(scripted).flatten();
    scripted.or_else(|| catalog.default_model(chatgpt))
}

/// Without a configured model it is `preset`, the default of the catalog.
fn apply_model(session: &mut SessionConfig, model: ModelSettings, preset: Option<&ModelInfo>) {
    let ModelSettings {
        model,
        fallbacks,
        usage_limit_wait,
        review_model,
        provider_id,
        provider,
        reasoning_effort,
        // Used by the app-server for the preset of the plan mode.
        plan_mode_reasoning_effort: _,
        reasoning_summary,
        force_reasoning_summaries,
        prompt_cache_notices,
        verbosity,
        context_window,
        auto_compact_token_limit,
        auto_compact_counts_growth,
        compact_after_turn_percent,
        tool_output_token_limit,
        service_tier,
        personality,
        catalog: _,
    } = model;
    let settings = &mut session.options.settings;
    let preset = || preset.map(|model| model.slug.clone());
    settings.model = model.or_else(preset).unwrap_or_default();
    settings.provider = provider_id;
    settings.effort = reasoning_effort;
    settings.summary = reasoning_summary;
    settings.service_tier = service_tier;
    settings.personality = personality;
    session.options.model_fallbacks = fallbacks;
    session.options.usage_limit_wait = usage_limit_wait;
    session.options.review_model = review_model;
    session.options.stream_max_retries = provider.stream_max_retries;
    session.options.verbosity = verbosity;
    session.options.reasoning_summaries = force_reasoning_summaries;
    session.options.prompt_cache_notices = prompt_cache_notices;
    session.options.context_window = context_window;
    session.options.auto_compact_limit = auto_compact_token_limit;
    session.options.compaction = CompactionRules {
        counts_growth: auto_compact_counts_growth,
        after_turn_percent: compact_after_turn_percent,
    };
    session.options.tool_output_tokens = tool_output_token_limit;
}

fn apply_policy(session: &mut SessionConfig, policy: PolicySettings, requirements: &Requirements) {
    let PolicySettings {
        approval_policy,
        approvals_reviewer,
        sandbox_policy,
        permissions,
        host_limits,
        // Part of the limits with those of rules.
        network_limits: _,
        // Clients choose among them at run time.
        configured_permissions: _,
        allow_login_shell,
        background_terminal_max_timeout,
        web_search,
        web_search_options,
        windows_sandbox,
    } = policy;
    let settings = &mut session.options.settings;
    settings.approval_policy = approval_policy;
    settings.approvals_reviewer = approvals_reviewer;
    settings.sandbox_policy = sandbox_policy;
    settings.permission_profile = permissions;
    settings.host_limits = host_limits;
    session.options.allow_login_shell = allow_login_shell;
    session.options.restricted_token = windows_sandbox == Some(WindowsSandbox::Unelevated);
    session.options.longest_poll = background_terminal_max_timeout;
    session.options.web_search = WebSearch {
        mode: web_search,
        live_with_full_access: requirements.check_web_search(WebSearchMode::Live).is_ok(),
        options: web_search_options,
    };
}

fn apply_instructions(
    session: &mut SessionConfig,
    instructions: Instructions,
    features: &FeatureSet,
) {
    let Instructions {
        base,
        developer,
        compact_prompt,
        commit_attribution,
        sections,
    } = instructions;
    let trailer = features
        .enabled(Feature::CodexGitCommit)
        .then(|| commit_trailer(commit_attribution.as_deref()));
    // Empty ones say that there are none.
    let developer = developer.filter(|text| !text.is_empty());
    let developer = [developer, trailer.flatten()].into_iter().flatten();
    let developer: Vec<String> = developer.collect();
    session.options.context_sections = ContextSections {
        permissions: !sections.without_permissions,
        environment: !sections.without_environment,
        time: !sections.without_time,
        modes: !sections.without_modes,
        apps: !sections.without_apps,
    };
    session.options.base_instructions = base;
    session.options.developer_instructions =
        (!developer.is_empty()).then(|| developer.join("\n\n"));
    session.options.compact_prompt = compact_prompt;
}

fn apply_storage(session: &mut SessionConfig, storage: StorageSettings) {
    let StorageSettings {
        history,
        sqlite_home: _,
        log_dir: _,
        checkpoints: _,
        traces: _,
        thread_unload_delay: _,
        rollout_trace: _,
    } = storage;
    session.options.message_history = MessageHistory {
        keep: history.persistence == HistoryPersistence::SaveAll,
        max_bytes: history.max_bytes,
    };
}

/// The instruction about commit trailers; none if the user disabled it.
fn commit_trailer(author: Option<&str>) -> Option<String> {
    let author = author.unwrap_or(COMMIT_AUTHOR).trim();
    (!author.is_empty()).then(|| {
        format!(
            "When you write the message of a commit, end it with this trailer, once and after an \
             empty line:\nCo-authored-by: {author}"
        )
    })
}

/// The form of agents: what the catalogue says of the model, otherwise what the features say.
fn agents_version(model: &ModelInfo, features: &FeatureSet) -> AgentsVersion {
    model.multi_agent_version.unwrap_or_else(|| {
        if features.enabled(Feature::MultiAgentV2) {
            AgentsVersion::V2
        } else if features.enabled(Feature::MultiAgent) {
            AgentsVersion::V1
        } else {
            AgentsVersion::Disabled
        }
    })
}

/// The settings for agents, if the model may start some.
fn agents(
    settings: &ConfiguredAgents,
    team: ConfiguredTeam,
    version: AgentsVersion,
) -> Option<AgentSettings> {
    let team = match version {
        AgentsVersion::Disabled => return None,
        AgentsVersion::V1 => None,
        AgentsVersion::V2 => Some(self::team(team)),
    };
    Some(AgentSettings {
        max_threads: usize::try_from(settings.max_threads).unwrap_or(usize::MAX),
        max_depth: i32::try_from(settings.max_depth).unwrap_or(i32::MAX),
        roles: Vec::new(),
        team,
    })
}

/// The settings for agents that are addressed by path.
fn team(settings: ConfiguredTeam) -> TeamSettings {
    let ConfiguredTeam {
        max_concurrent_threads,
        min_wait_ms,
        max_wait_ms,
        default_wait_ms,
        usage_hint,
        root_hint,
        agent_hint,
        tool_namespace,
        hide_metadata,
        direct_only,
    } = settings;
    let wait = |milliseconds: u32| Duration::from_millis(milliseconds.into());
    // The root is one of them.
    let agents = max_concurrent_threads.saturating_sub(1);
    TeamSettings {
        max_agents: usize::try_from(agents).unwrap_or(usize::MAX),
        min_wait: wait(min_wait_ms),
        max_wait: wait(max_wait_ms),
        default_wait: wait(default_wait_ms),
        usage_hint,
        root_hint,
        agent_hint,
        tool_namespace,
        hide_metadata,
        direct_only,
    }
}

/// How jobs of agents run.
fn agent_jobs(settings: &ConfiguredAgents) -> AgentJobs {
    AgentJobs {
        max_runtime: Duration::from_secs(settings.job_max_runtime_seconds.into()),
    }
}

/// A warning that hidden files are not hidden from commands without a sandbox, where the system cannot hide them.
fn unheld_patterns(config: &Config) -> Option<ConfigWarning> {
    let is_open = matches!(
        config.policy.sandbox_policy,
        SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. }
    );
    let is_unheld =
        is_open && config.secrets.has_patterns && !codex_sandbox::hides_without_sandbox();
    is_unheld.then(|| {
        ConfigWarning::new(
            "Commands run without a sandbox, and this system cannot hide files from them: they can read what \
             `secrets.deny_read` names. Tools cannot.",
        )
    })
}

/// Reads the AGENTS.md files of the home folder and of projects.
#[derive(Debug)]
struct ProjectInstructions {
    home: PathBuf,
    settings: ProjectDocSettings,
    engine_files: Arc<EngineFiles>,
}

impl ProjectInstructions {
    fn docs(&self, cwd: Option<&Path>) -> ProjectDocs {
        // Most folders have no such file, so there is nothing to hide.
        let rules = LazyCell::new(|| hiding_rules(&self.engine_files.hidden_files, cwd));
        let is_hidden = |path: &Path| rules.hides(path).is_some();
        self.settings.read_visible(&self.home, cwd, &is_hidden)
    }
}

impl InstructionFiles for ProjectInstructions {
    fn read(&self, cwd: Option<&Path>) -> Option<String> {
        let docs = self.docs(cwd);
        if let Some(error) = docs.error {
            tracing::warn!(?cwd, %error, "cannot read the project's instructions");
        }
        docs.text
    }

    fn sources(&self, cwd: Option<&Path>) -> Vec<PathBuf> {
        self.docs(cwd).files
    }

    fn below(&self, cwd: &Path, paths: &[PathBuf]) -> Vec<(PathBuf, String)> {
        let rules = LazyCell::new(|| hiding_rules(&self.engine_files.hidden_files, Some(cwd)));
        let is_hidden = |path: &Path| rules.hides(path).is_some();
        self.settings.read_below(cwd, paths, &is_hidden)
    }

    fn are_followed(&self) -> bool {
        self.settings.follow_changes
    }
}

/// What is checked when settings change.
fn administrator_limits(requirements: &Requirements) -> AdministratorLimits {
    AdministratorLimits {
        approval_policies: (requirements.approval_policies.as_ref()).map(|limit| AllowedValues {
            values: limit.value.clone(),
            origin: limit.source.to_string(),
        }),
        sandboxes: (requirements.sandbox_modes.as_ref()).map(|limit| AllowedValues {
            values: limit.value.iter().copied().map(sandbox_kind).collect(),
            origin: limit.source.to_string(),
        }),
    }
}

fn sandbox_kind(mode: SandboxModeRequirement) -> SandboxKind {
    match mode {
        SandboxModeRequirement::ReadOnly => SandboxKind::ReadOnly,
        SandboxModeRequirement::WorkspaceWrite => SandboxKind::WorkspaceWrite,
        SandboxModeRequirement::DangerFullAccess => SandboxKind::DangerFullAccess,
        SandboxModeRequirement::ExternalSandbox => SandboxKind::ExternalSandbox,
    }
}

/// How scripts run, if the model may write some.
fn code_mode(set: &FeatureSet, settings: CodeModeSettings) -> Option<CodeMode> {
    if !codex_code_mode::IS_SUPPORTED {
        return None;
    }
    let mode = if set.enabled(Feature::CodeModeOnly) {
        ToolMode::CodeModeOnly
    } else if set.enabled(Feature::CodeMode) {
        ToolMode::CodeMode
    } else {
        ToolMode::Direct
    };
    Some(CodeMode {
        mode,
        excluded_namespaces: settings.excluded_tool_namespaces,
    })
}

/// How the console of the model runs, if it has one.
fn js_repl(set: &FeatureSet) -> Option<JsRepl> {
    if !set.enabled(Feature::JsRepl) || !codex_code_mode::IS_SUPPORTED {
        return None;
    }
    Some(JsRepl {
        only: set.enabled(Feature::JsReplToolsOnly),
    })
}

fn features(set: FeatureSet) -> Features {
    let on = |feature| set.enabled(feature);
    Features {
        shell_tool: on(Feature::ShellTool),
        unified_exec: on(Feature::UnifiedExec),
        apply_patch_freeform: on(Feature::ApplyPatchFreeform),
        request_permissions: on(Feature::RequestPermissionsTool),
        exec_permissions: on(Feature::ExecPermissionApprovals),
        default_mode_questions: on(Feature::DefaultModeRequestUserInput),
        image_generation: on(Feature::ImageGeneration),
        patch_events: on(Feature::ApplyPatchStreamingEvents),
        tool_search: on(Feature::ToolSearch),
        step_model_switching: on(Feature::StepModelSwitching),
    }
}
