//! The configurations of sessions that are derived from another one.
//!
//! Every constructor decides on every member: a new one does not compile until it is decided on in each of them. A review alone
//! is a task of its thread and has all of it that is not taken away.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_model_client::ModelInfo;
use codex_protocol::{
    AskForApproval, ModeKind, ReadOnlyAccess, ReasoningEffort, SandboxPolicy, SessionSource,
    SubAgentSource, ThreadSettings,
};
use codex_rollout::PersistedDetail;
use codex_sandbox::EngineFiles;
use codex_thread_state::ThreadState;

use crate::config::{
    AgentSettings, CompactionRules, ContextSections, Features, HostTools, InstructionFiles,
    MessageHistory, ReplaySource, SessionConfig, SessionHooks, SessionIdentity, SessionOptions,
    SessionServices, WebSearch,
};
use crate::turn_settings::TurnSettings;

/// The label of reviewers of approvals for providers and traces.
const REVIEWER_LABEL: &str = "guardian";

/// A hidden thread. It asks nobody. It gets the model and the provider of a session, and everything that limits it. It gets
/// nothing that the user has added for the model, and no rule that allows something.
struct HiddenThread {
    instructions: String,
    source: SessionSource,
    /// Model and working folder. Mode, approvals and permissions are fixed.
    settings: ThreadSettings,
    sandbox_policy: SandboxPolicy,
}

/// An agent that makes memories.
#[derive(Debug)]
pub struct MemoryAgent<'a> {
    pub instructions: &'a str,
    pub cwd: &'a Path,
    /// The model, if it is not that of the session.
    pub model: Option<&'a str>,
    pub sandbox_policy: SandboxPolicy,
    /// Whether it has files and commands to work with.
    pub has_environment: bool,
}

/// What takes the place of the services of a recorded session.
#[derive(Debug)]
pub struct ReplayServices {
    pub home: PathBuf,
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    pub instruction_files: Arc<dyn InstructionFiles>,
    pub host_tools: Option<Arc<dyn HostTools>>,
    pub thread_state: Arc<ThreadState>,
    pub replay: Arc<dyn ReplaySource>,
    /// Whether the thread has a file.
    pub has_file: bool,
}

impl SessionConfig {
    /// The configuration of an agent: that of the thread which starts it, with the settings of its turn. `depth` is
    /// that of the thread.
    pub fn for_agent(&self, turn: &TurnSettings, depth: i32) -> Self {
        Self {
            options: options_of_agent(&self.options, turn, depth),
            services: services_of_agent(&self.services),
            identity: identity_of_agent(&self.identity),
        }
    }

    /// The configuration of a reviewer of approvals: it asks nobody, changes nothing, and starts nothing. `policy` are its
    /// instructions if the user and the administrator have none.
    pub fn for_reviewer(&self, turn: &TurnSettings, policy: &str) -> Self {
        let mut settings = self.options.settings.clone();
        settings.model.clone_from(&turn.model.slug);
        settings.effort = low_effort(&turn.model);
        settings.cwd.clone_from(&turn.cwd);
        settings.without_environment = !turn.has_environment;
        settings.environments.clone_from(&turn.environments);
        let configured = self.options.reviewer_policy.as_deref();
        self.for_hidden_thread(HiddenThread {
            instructions: configured.unwrap_or(policy).to_owned(),
            source: SessionSource::SubAgent(SubAgentSource::Other(REVIEWER_LABEL.to_owned())),
            settings,
            sandbox_policy: SandboxPolicy::ReadOnly {
                access: ReadOnlyAccess::FullAccess,
                network_access: false,
            },
        })
    }

    /// The configuration of a review, which is a task of the thread itself: it asks nobody, starts no agents and
    /// does not search the web.
    #[must_use]
    pub fn for_review(&self) -> Self {
        let mut config = self.clone();
        config.identity.source = SessionSource::SubAgent(SubAgentSource::Review);
        config.services.turn_ended = None;
        let options = &mut config.options;
        options.web_search = WebSearch::default();
        options.agents = None;
        options.features.request_permissions = false;
        options.features.exec_permissions = false;
        options.features.default_mode_questions = false;
        config
    }

    /// The configuration of an agent that makes memories.
    #[must_use]
    pub fn for_memories(&self, agent: MemoryAgent<'_>) -> Self {
        let MemoryAgent {
            instructions,
            cwd,
            model,
            sandbox_policy,
            has_environment,
        } = agent;
        let mut settings = self.options.settings.clone();
        if let Some(model) = model {
            model.clone_into(&mut settings.model);
            settings.effort = None;
        }
        cwd.clone_into(&mut settings.cwd);
        settings.without_environment = !has_environment;
        settings.environments = Vec::new();
        let mut config = self.for_hidden_thread(HiddenThread {
            instructions: instructions.to_owned(),
            source: SessionSource::SubAgent(SubAgentSource::MemoryConsolidation),
            settings,
            sandbox_policy,
        });
        let files = &mut config.services.engine_files;
        *files = Arc::new(files.for_another_session());
        config
    }

    fn for_hidden_thread(&self, hidden: HiddenThread) -> Self {
        let source = hidden.source.clone();
        Self {
            options: options_of_hidden_thread(&self.options, hidden),
            services: services_of_hidden_thread(&self.services),
            identity: identity_of_hidden_thread(&self.identity, source),
        }
    }

    /// The configuration of a recorded session that runs again. It has no MCP servers and no hooks, and takes no
    /// snapshots.
    #[must_use]
    pub fn for_replay(
        options: SessionOptions,
        identity: SessionIdentity,
        services: ReplayServices,
    ) -> Self {
        let has_file = services.has_file;
        Self {
            options: options_of_replay(options),
            services: services_of_replay(services),
            identity: identity_of_replay(identity, has_file),
        }
    }
}

/// Those of the thread, with the settings of its turn.
fn options_of_agent(options: &SessionOptions, turn: &TurnSettings, depth: i32) -> SessionOptions {
    let SessionOptions {
        settings: own,
        model_fallbacks,
        usage_limit_wait,
        review_model,
        verbosity,
        limits,
        rules,
        network_limits,
        base_instructions: _,
        developer_instructions: _,
        compact_prompt,
        user_instructions,
        memory_summary,
        memory_mode,
        reviewer_policy,
        context_sections,
        dynamic_tools: _,
        web_search,
        features,
        mcp_namespaces,
        code_mode,
        js_repl,
        checkpoints,
        message_history,
        tool_output_tokens,
        context_window,
        auto_compact_limit,
        compaction,
        shell,
        takes_openai_forms,
        allow_login_shell,
        restricted_token,
        longest_poll,
        stream_max_retries,
        agents,
        agent_jobs,
        detail,
        raw_items: _,
        replay_events: _,
        show_raw_reasoning,
        reasoning_summaries,
        prompt_cache_notices,
        hook_warnings: _,
        serves_queue: _,
    } = options;
    let mut settings = own.clone();
    settings.model.clone_from(&turn.model.slug);
    settings.effort = turn.mode.settings.reasoning_effort.clone();
    settings.summary = Some(turn.summary);
    settings.service_tier = turn.service_tier.clone();
    settings.personality = turn.personality;
    settings.limits = turn.limits;
    settings.disabled_plugins.clone_from(&turn.disabled_plugins);
    settings.without_environment = !turn.has_environment;
    settings.environments.clone_from(&turn.environments);
    let depth = depth.saturating_add(1);
    let may_start = |agents: &AgentSettings| agents.team.is_some() || depth < agents.max_depth;
    let mut agent = SessionOptions {
        settings,
        model_fallbacks: model_fallbacks.clone(),
        usage_limit_wait: *usage_limit_wait,
        review_model: review_model.clone(),
        verbosity: *verbosity,
        limits: limits.clone(),
        rules: rules.clone(),
        network_limits: network_limits.clone(),
        base_instructions: Some(turn.instructions.base.to_string()),
        developer_instructions: turn.instructions.developer.as_deref().map(str::to_owned),
        compact_prompt: compact_prompt.clone(),
        user_instructions: user_instructions.clone(),
        memory_summary: memory_summary.clone(),
        memory_mode: memory_mode.clone(),
        reviewer_policy: reviewer_policy.clone(),
        context_sections: *context_sections,
        dynamic_tools: Vec::new(),
        web_search: web_search.clone(),
        features: Features {
            default_mode_questions: false,
            ..*features
        },
        mcp_namespaces: *mcp_namespaces,
        code_mode: code_mode.clone(),
        js_repl: *js_repl,
        checkpoints: *checkpoints,
        message_history: *message_history,
        tool_output_tokens: *tool_output_tokens,
        context_window: *context_window,
        auto_compact_limit: *auto_compact_limit,
        compaction: *compaction,
        shell: shell.clone(),
        takes_openai_forms: *takes_openai_forms,
        allow_login_shell: *allow_login_shell,
        restricted_token: *restricted_token,
        longest_poll: *longest_poll,
        stream_max_retries: *stream_max_retries,
        agents: agents.clone().filter(may_start),
        agent_jobs: *agent_jobs,
        detail: *detail,
        raw_items: false,
        replay_events: false,
        show_raw_reasoning: *show_raw_reasoning,
        reasoning_summaries: *reasoning_summaries,
        prompt_cache_notices: *prompt_cache_notices,
        hook_warnings: Vec::new(),
        serves_queue: false,
    };
    take_policies(&mut agent, turn);
    agent
}

fn services_of_agent(services: &SessionServices) -> SessionServices {
    let SessionServices {
        home,
        threads_home,
        environment,
        engine_files,
        kernel_program,
        instruction_files,
        host_tools: _,
        mcp_servers,
        mcp_approvals,
        suggestions,
        skills,
        plugins,
        checkpoint_store,
        thread_state,
        hooks,
        client_hooks,
        turn_ended: _,
        realtime,
        machines,
        replay,
    } = services;
    SessionServices {
        home: home.clone(),
        threads_home: threads_home.clone(),
        environment: environment.clone(),
        engine_files: engine_files.clone(),
        kernel_program: kernel_program.clone(),
        instruction_files: instruction_files.clone(),
        host_tools: None,
        mcp_servers: mcp_servers.clone(),
        mcp_approvals: mcp_approvals.clone(),
        suggestions: suggestions.clone(),
        skills: skills.clone(),
        plugins: plugins.clone(),
        checkpoint_store: checkpoint_store.clone(),
        thread_state: thread_state.clone(),
        hooks: hooks.clone(),
        client_hooks: client_hooks.clone(),
        turn_ended: None,
        realtime: realtime.clone(),
        machines: machines.clone(),
        replay: replay.clone(),
    }
}

fn identity_of_agent(identity: &SessionIdentity) -> SessionIdentity {
    let SessionIdentity {
        source,
        originator,
        version,
        forked_from: _,
        cache_root,
        thread_source,
        ephemeral,
        is_side_thread,
        has_legacy_history,
        has_paginated_history,
        is_unattended,
    } = identity;
    SessionIdentity {
        source: source.clone(),
        originator: originator.clone(),
        version: version.clone(),
        forked_from: None,
        cache_root: cache_root.clone(),
        thread_source: thread_source.clone(),
        ephemeral: *ephemeral,
        is_side_thread: *is_side_thread,
        has_legacy_history: *has_legacy_history,
        has_paginated_history: *has_paginated_history,
        is_unattended: *is_unattended,
    }
}

/// What limits the session, and its model.
fn options_of_hidden_thread(options: &SessionOptions, hidden: HiddenThread) -> SessionOptions {
    let SessionOptions {
        settings: _,
        model_fallbacks: _,
        usage_limit_wait: _,
        review_model: _,
        verbosity,
        limits,
        rules,
        network_limits,
        base_instructions: _,
        developer_instructions: _,
        compact_prompt: _,
        user_instructions: _,
        memory_summary: _,
        memory_mode: _,
        reviewer_policy: _,
        context_sections: _,
        dynamic_tools: _,
        web_search: _,
        features: _,
        mcp_namespaces: _,
        code_mode: _,
        js_repl: _,
        checkpoints: _,
        message_history: _,
        tool_output_tokens: _,
        context_window,
        auto_compact_limit: _,
        compaction: _,
        shell,
        takes_openai_forms: _,
        allow_login_shell,
        restricted_token,
        longest_poll,
        stream_max_retries,
        agents: _,
        agent_jobs: _,
        detail: _,
        raw_items: _,
        replay_events: _,
        show_raw_reasoning: _,
        reasoning_summaries: _,
        prompt_cache_notices: _,
        hook_warnings: _,
        serves_queue: _,
    } = options;
    let HiddenThread {
        instructions,
        mut settings,
        sandbox_policy,
        source: _,
    } = hidden;
    (settings.mode, settings.mode_instructions) = (ModeKind::Default, None);
    settings.approval_policy = AskForApproval::Never;
    settings.permission_profile = None;
    settings.sandbox_policy = sandbox_policy;
    SessionOptions {
        settings,
        model_fallbacks: Vec::new(),
        usage_limit_wait: Duration::ZERO,
        review_model: None,
        verbosity: *verbosity,
        limits: limits.clone(),
        rules: rules.restrictions(),
        network_limits: network_limits.clone(),
        base_instructions: Some(instructions),
        developer_instructions: None,
        compact_prompt: None,
        user_instructions: None,
        memory_summary: None,
        memory_mode: None,
        reviewer_policy: None,
        context_sections: ContextSections::default(),
        dynamic_tools: Vec::new(),
        web_search: WebSearch::default(),
        features: Features::default(),
        mcp_namespaces: false,
        code_mode: None,
        js_repl: None,
        checkpoints: None,
        message_history: MessageHistory {
            keep: false,
            max_bytes: None,
        },
        tool_output_tokens: None,
        context_window: *context_window,
        auto_compact_limit: None,
        compaction: CompactionRules::default(),
        shell: shell.clone(),
        takes_openai_forms: false,
        allow_login_shell: *allow_login_shell,
        restricted_token: *restricted_token,
        longest_poll: *longest_poll,
        stream_max_retries: *stream_max_retries,
        agents: None,
        agent_jobs: None,
        detail: PersistedDetail::default(),
        raw_items: false,
        replay_events: true,
        show_raw_reasoning: false,
        reasoning_summaries: false,
        prompt_cache_notices: false,
        hook_warnings: Vec::new(),
        serves_queue: false,
    }
}

fn services_of_hidden_thread(services: &SessionServices) -> SessionServices {
    let SessionServices {
        home,
        threads_home,
        environment,
        engine_files,
        kernel_program,
        instruction_files: _,
        host_tools: _,
        mcp_servers: _,
        mcp_approvals: _,
        suggestions: _,
        skills: _,
        plugins: _,
        checkpoint_store: _,
        thread_state: _,
        hooks: _,
        client_hooks: _,
        turn_ended: _,
        realtime: _,
        machines,
        replay: _,
    } = services;
    SessionServices {
        home: home.clone(),
        threads_home: threads_home.clone(),
        environment: environment.clone(),
        engine_files: engine_files.clone(),
        kernel_program: kernel_program.clone(),
        instruction_files: None,
        host_tools: None,
        mcp_servers: Vec::new(),
        mcp_approvals: None,
        suggestions: None,
        skills: None,
        plugins: None,
        checkpoint_store: None,
        thread_state: None,
        hooks: SessionHooks::default(),
        client_hooks: None,
        turn_ended: None,
        realtime: None,
        machines: machines.clone(),
        replay: None,
    }
}

fn identity_of_hidden_thread(identity: &SessionIdentity, source: SessionSource) -> SessionIdentity {
    let SessionIdentity {
        source: _,
        originator,
        version,
        forked_from: _,
        cache_root: _,
        thread_source: _,
        ephemeral: _,
        is_side_thread: _,
        has_legacy_history: _,
        has_paginated_history: _,
        is_unattended,
    } = identity;
    SessionIdentity {
        source,
        originator: originator.clone(),
        version: version.clone(),
        forked_from: None,
        cache_root: None,
        thread_source: None,
        ephemeral: true,
        is_side_thread: false,
        has_legacy_history: false,
        has_paginated_history: false,
        is_unattended: *is_unattended,
    }
}

/// As recorded. Clients get no stored events, and nothing is added to the history of messages.
fn options_of_replay(options: SessionOptions) -> SessionOptions {
    let SessionOptions {
        settings,
        model_fallbacks,
        usage_limit_wait,
        review_model,
        verbosity,
        limits,
        rules,
        network_limits,
        base_instructions,
        developer_instructions,
        compact_prompt,
        user_instructions,
        memory_summary,
        memory_mode,
        reviewer_policy,
        context_sections,
        dynamic_tools,
        web_search,
        features,
        mcp_namespaces,
        code_mode,
        js_repl,
        checkpoints,
        message_history,
        tool_output_tokens,
        context_window,
        auto_compact_limit,
        compaction,
        shell,
        takes_openai_forms,
        allow_login_shell,
        restricted_token,
        longest_poll,
        stream_max_retries,
        agents,
        agent_jobs,
        detail,
        raw_items,
        replay_events: _,
        show_raw_reasoning,
        reasoning_summaries,
        prompt_cache_notices,
        hook_warnings,
        serves_queue,
    } = options;
    SessionOptions {
        settings,
        model_fallbacks,
        usage_limit_wait,
        review_model,
        verbosity,
        limits,
        rules,
        network_limits,
        base_instructions,
        developer_instructions,
        compact_prompt,
        user_instructions,
        memory_summary,
        memory_mode,
        reviewer_policy,
        context_sections,
        dynamic_tools,
        web_search,
        features,
        mcp_namespaces,
        code_mode,
        js_repl,
        checkpoints,
        message_history: MessageHistory {
            keep: false,
            ..message_history
        },
        tool_output_tokens,
        context_window,
        auto_compact_limit,
        compaction,
        shell,
        takes_openai_forms,
        allow_login_shell,
        restricted_token,
        longest_poll,
        stream_max_retries,
        agents,
        agent_jobs,
        detail,
        raw_items,
        replay_events: false,
        show_raw_reasoning,
        reasoning_summaries,
        prompt_cache_notices,
        hook_warnings,
        serves_queue,
    }
}

fn services_of_replay(services: ReplayServices) -> SessionServices {
    let ReplayServices {
        home,
        environment,
        instruction_files,
        host_tools,
        thread_state,
        replay,
        has_file: _,
    } = services;
    let engine_files = Arc::new(EngineFiles::of_home(&home));
    SessionServices {
        threads_home: home.clone(),
        home,
        environment,
        engine_files,
        kernel_program: PathBuf::new(),
        instruction_files: Some(instruction_files),
        host_tools,
        mcp_servers: Vec::new(),
        mcp_approvals: None,
        suggestions: None,
        skills: None,
        plugins: None,
        checkpoint_store: None,
        thread_state: Some(thread_state),
        hooks: SessionHooks::default(),
        client_hooks: None,
        turn_ended: None,
        realtime: None,
        machines: None,
        replay: Some(replay),
    }
}

fn identity_of_replay(identity: SessionIdentity, has_file: bool) -> SessionIdentity {
    let SessionIdentity {
        source,
        originator,
        version,
        forked_from,
        cache_root,
        thread_source,
        ephemeral: _,
        is_side_thread,
        has_legacy_history,
        has_paginated_history,
        is_unattended,
    } = identity;
    SessionIdentity {
        source,
        originator,
        version,
        forked_from,
        cache_root,
        thread_source,
        ephemeral: !has_file,
        is_side_thread,
        has_legacy_history,
        has_paginated_history,
        is_unattended,
    }
}

/// Takes over what a role must not loosen: the working folder and the policies.
pub fn take_policies(options: &mut SessionOptions, turn: &TurnSettings) {
    let settings = &mut options.settings;
    settings.cwd.clone_from(&turn.cwd);
    settings.without_environment = !turn.has_environment;
    settings.environments.clone_from(&turn.environments);
    settings.approval_policy = turn.approval_policy;
    settings.approvals_reviewer = turn.approvals_reviewer;
    settings.sandbox_policy = turn.sandbox_policy.clone();
    settings
        .permission_profile
        .clone_from(&turn.permission_profile);
    options.network_limits = (*turn.network_limits).clone();
}

/// A low effort, if the model knows one: a review holds the turn up.
fn low_effort(model: &ModelInfo) -> Option<ReasoningEffort> {
    let levels = &model.supported_reasoning_levels;
    let low = levels
        .iter()
        .find(|level| level.effort == ReasoningEffort::Low);
    low.map(|level| level.effort.clone())
}
