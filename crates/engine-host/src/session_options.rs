//! The options of a session that the configuration decides on.
//!
//! The configuration is destructured without `..`, so a new setting must be used here or listed as having no effect
//! ([`codex_config::WITHOUT_EFFECT`], repeated in docs/status/parts.md). The options are made without `..` too.

use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_config::schema::{HistoryPersistence, WindowsSandbox};
use codex_config::{
    AgentSettings as ConfiguredAgents, CodeModeSettings, Config, Feature, FeatureSet, Instructions,
    ModelSettings, PolicySettings, Requirements, SandboxModeRequirement, StorageSettings,
    TeamSettings as ConfiguredTeam,
};
use codex_core::{
    AdministratorLimits, AgentJobs, AgentSettings, AllowedValues, CodeMode, CompactionRules,
    ContextSections, Features, JsRepl, MessageHistory, SandboxKind, SessionOptions, TeamSettings,
    WebSearch,
};
use codex_exec_policy::RuleSet;
use codex_model_client::{AgentsVersion, ModelCatalog, ModelInfo, ToolMode};
use codex_protocol::{ModeKind, ThreadSettings, WebSearchMode};
use codex_rollout::PersistedDetail;
use codex_sandbox::NetworkLimits;

use crate::checkpoints;
use crate::environment::variable;
use crate::scripted_model::{SCRIPTED_MODEL, SCRIPTED_PROVIDER};
use crate::user_shell::user_shell;

/// The default trailer of commits.
const COMMIT_AUTHOR: &str = "Codex <noreply@openai.com>";

/// The model where the settings name none.
pub(crate) fn default_model<'a>(
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

/// The first settings of a thread. Without a configured model it is `preset`, the default of the catalog.
pub(crate) fn thread_settings(
    config: &Config,
    cwd: &Path,
    preset: Option<&ModelInfo>,
) -> ThreadSettings {
    let (model, policy) = (&config.model, &config.policy);
    let preset = || preset.map(|model| model.slug.clone());
    ThreadSettings {
        cwd: cwd.to_owned(),
        model: model.model.clone().or_else(preset).unwrap_or_default(),
        provider: model.provider_id.clone(),
        effort: model.reasoning_effort.clone(),
        summary: model.reasoning_summary,
        service_tier: model.service_tier.clone(),
        personality: model.personality,
        approval_policy: policy.approval_policy,
        approvals_reviewer: policy.approvals_reviewer,
        sandbox_policy: policy.sandbox_policy.clone(),
        permission_profile: policy.permissions.clone(),
        host_limits: policy.host_limits.clone(),
        limits: config.limits,
        // Clients choose these.
        mode: ModeKind::Default,
        mode_instructions: None,
        disabled_plugins: Vec::new(),
        without_environment: false,
        environments: Vec::new(),
    }
}

/// The options of a thread that begins with `settings`.
pub(crate) fn session_options(
    config: Config,
    settings: ThreadSettings,
    catalog: &ModelCatalog,
    rules: RuleSet,
    network_limits: NetworkLimits,
) -> SessionOptions {
    let checkpoints = checkpoints::options(&config);
    let Config {
        home: _,
        model,
        providers: _,
        instructions,
        // Read by the services of the session.
        project_docs: _,
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
        // A service of the session.
        notify: _,
        client_release: _,
        reviewer_policy,
        // Part of the settings of the thread.
        limits: _,
        show_raw_reasoning,
        suggestions: _,
        // For the user.
        deprecations: _,
        warnings: _,
    } = config;
    let ModelSettings {
        fallbacks,
        usage_limit_wait,
        review_model,
        provider,
        force_reasoning_summaries,
        prompt_cache_notices,
        verbosity,
        context_window,
        auto_compact_token_limit,
        auto_compact_counts_growth,
        compact_after_turn_percent,
        tool_output_token_limit,
        // Part of the settings of the thread.
        model: _,
        provider_id: _,
        reasoning_effort: _,
        reasoning_summary: _,
        service_tier: _,
        personality: _,
        // Used by the app-server for the preset of the plan mode.
        plan_mode_reasoning_effort: _,
        catalog: _,
    } = model;
    let PolicySettings {
        // Part of the settings of the thread.
        approval_policy: _,
        approvals_reviewer: _,
        sandbox_policy: _,
        permissions: _,
        host_limits: _,
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
    let Instructions {
        base,
        developer,
        compact_prompt,
        commit_attribution,
        sections,
    } = instructions;
    let model = catalog.resolve(&settings.model).info;
    let trailer = trailer_instruction(&features, commit_attribution.as_deref());
    let required = requirements.guardian_instructions.as_ref();
    let required = required.map(|policy| policy.value.clone());
    let has_kernels = kernel_program().is_some();
    SessionOptions {
        settings,
        model_fallbacks: fallbacks,
        usage_limit_wait,
        review_model,
        verbosity,
        limits: administrator_limits(&requirements),
        rules,
        network_limits,
        base_instructions: base,
        developer_instructions: developer_instructions(developer, trailer),
        compact_prompt,
        // Read last, with the services of the session.
        user_instructions: None,
        reviewer_policy: required.or(reviewer_policy),
        context_sections: ContextSections {
            permissions: !sections.without_permissions,
            environment: !sections.without_environment,
            time: !sections.without_time,
            modes: !sections.without_modes,
            apps: !sections.without_apps,
        },
        web_search: WebSearch {
            mode: web_search,
            live_with_full_access: requirements.check_web_search(WebSearchMode::Live).is_ok(),
            options: web_search_options,
        },
        features: self::features(&features),
        code_mode: has_kernels
            .then(|| self::code_mode(&features, code_mode))
            .flatten(),
        js_repl: has_kernels.then(|| js_repl(&features)).flatten(),
        checkpoints,
        message_history: message_history(storage),
        tool_output_tokens: tool_output_token_limit,
        context_window,
        auto_compact_limit: auto_compact_token_limit,
        compaction: CompactionRules {
            counts_growth: auto_compact_counts_growth,
            after_turn_percent: compact_after_turn_percent,
        },
        shell: user_shell(variable),
        allow_login_shell,
        restricted_token: windows_sandbox == Some(WindowsSandbox::Unelevated),
        longest_poll: background_terminal_max_timeout,
        stream_max_retries: provider.stream_max_retries,
        agents: self::agents(&agents, team, agents_version(&model, &features)),
        agent_jobs: features
            .enabled(Feature::EnableFanout)
            .then(|| agent_jobs(&agents)),
        show_raw_reasoning,
        reasoning_summaries: force_reasoning_summaries,
        prompt_cache_notices,
        // The host reads these.
        memory_summary: None,
        memory_mode: None,
        hook_warnings: Vec::new(),
        // Clients choose these.
        dynamic_tools: Vec::new(),
        mcp_namespaces: false,
        takes_openai_forms: false,
        detail: PersistedDetail::default(),
        raw_items: false,
        replay_events: true,
        serves_queue: false,
    }
}

/// The program whose kernels run scripts of the model; none if the system does not tell which one this is.
pub(crate) fn kernel_program() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

/// Empty instructions of the user say that there are none.
fn developer_instructions(own: Option<String>, trailer: Option<String>) -> Option<String> {
    let own = own.filter(|text| !text.is_empty());
    let parts: Vec<String> = [own, trailer].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn message_history(storage: StorageSettings) -> MessageHistory {
    let StorageSettings {
        history,
        sqlite_home: _,
        log_dir: _,
        checkpoints: _,
        traces: _,
        thread_unload_delay: _,
        rollout_trace: _,
    } = storage;
    MessageHistory {
        keep: history.persistence == HistoryPersistence::SaveAll,
        max_bytes: history.max_bytes,
    }
}

/// The instruction about commit trailers; none if the user disabled it.
fn trailer_instruction(features: &FeatureSet, author: Option<&str>) -> Option<String> {
    if !features.enabled(Feature::CodexGitCommit) {
        return None;
    }
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

fn features(set: &FeatureSet) -> Features {
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
