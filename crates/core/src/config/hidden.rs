//! The configuration of hidden threads: the reviewer of approvals and the agents that make memories.
//!
//! They get the model and the provider of a session, and everything that limits it. They get nothing that the user has added
//! for the model, and no rule that allows something: what they may do is fixed.

use std::sync::Arc;

use codex_protocol::{AskForApproval, ModeKind, SandboxPolicy, SessionSource, ThreadSettings};
use codex_rollout::PersistedDetail;

use super::{ContextSections, Features, MessageHistory, SessionConfig, SessionHooks, WebSearch};

/// What a hidden thread is for.
#[derive(Debug)]
pub struct HiddenThread {
    pub instructions: String,
    pub source: SessionSource,
    /// Model and working folder. Mode, approvals and permissions are fixed.
    pub settings: ThreadSettings,
    pub sandbox_policy: SandboxPolicy,
}

impl SessionConfig {
    /// The configuration of a hidden thread. It asks nobody.
    #[must_use]
    pub fn for_hidden_thread(&self, hidden: HiddenThread) -> Self {
        let HiddenThread {
            instructions,
            source,
            mut settings,
            sandbox_policy,
        } = hidden;
        (settings.mode, settings.mode_instructions) = (ModeKind::Default, None);
        settings.approval_policy = AskForApproval::Never;
        settings.permission_profile = None;
        settings.sandbox_policy = sandbox_policy;
        // Each member is decided on: a new one does not compile until it is.
        let Self {
            home,
            settings: _,
            review_model: _,
            verbosity,
            limits,
            rules,
            network_limits,
            base_instructions: _,
            developer_instructions: _,
            compact_prompt: _,
            dynamic_tools: _,
            host_tools: _,
            mcp_servers: _,
            mcp_namespaces: _,
            suggestions: _,
            mcp_approvals: _,
            web_search: _,
            user_instructions: _,
            instruction_files: _,
            skills: _,
            memory_summary: _,
            memory_mode: _,
            plugins: _,
            message_history: _,
            features: _,
            code_mode: _,
            js_repl: _,
            checkpoints: _,
            tool_output_tokens: _,
            context_window,
            auto_compact_limit: _,
            environment,
            shell,
            takes_openai_forms: _,
            allow_login_shell,
            stream_max_retries,
            source: _,
            originator,
            version,
            ephemeral: _,
            is_side_thread: _,
            has_legacy_history: _,
            has_paginated_history: _,
            thread_source: _,
            agents: _,
            agent_jobs: _,
            detail: _,
            raw_items: _,
            replay_events: _,
            show_raw_reasoning: _,
            reasoning_summaries: _,
            longest_poll,
            hooks: _,
            hook_warnings: _,
            client_hooks: _,
            turn_ended: _,
            engine_files,
            restricted_token,
            reviewer_policy: _,
            context_sections: _,
            realtime: _,
            replay: _,
            serves_queue: _,
        } = self;
        Self {
            home: home.clone(),
            settings,
            review_model: None,
            verbosity: *verbosity,
            limits: limits.clone(),
            rules: rules.restrictions(),
            network_limits: Arc::clone(network_limits),
            base_instructions: Some(instructions),
            developer_instructions: None,
            compact_prompt: None,
            dynamic_tools: Vec::new(),
            host_tools: None,
            mcp_servers: Vec::new(),
            mcp_namespaces: false,
            suggestions: None,
            mcp_approvals: None,
            web_search: WebSearch::default(),
            user_instructions: None,
            instruction_files: None,
            skills: None,
            memory_summary: None,
            memory_mode: None,
            plugins: None,
            message_history: MessageHistory {
                keep: false,
                max_bytes: None,
            },
            features: Features::default(),
            code_mode: None,
            js_repl: None,
            checkpoints: None,
            tool_output_tokens: None,
            context_window: *context_window,
            auto_compact_limit: None,
            environment: Arc::clone(environment),
            shell: shell.clone(),
            takes_openai_forms: false,
            allow_login_shell: *allow_login_shell,
            stream_max_retries: *stream_max_retries,
            source,
            originator: originator.clone(),
            version: version.clone(),
            ephemeral: true,
            is_side_thread: false,
            has_legacy_history: false,
            has_paginated_history: false,
            thread_source: None,
            agents: None,
            agent_jobs: None,
            detail: PersistedDetail::default(),
            raw_items: false,
            replay_events: true,
            show_raw_reasoning: false,
            reasoning_summaries: false,
            longest_poll: *longest_poll,
            hooks: SessionHooks::default(),
            hook_warnings: Vec::new(),
            client_hooks: None,
            turn_ended: None,
            engine_files: Arc::clone(engine_files),
            restricted_token: *restricted_token,
            reviewer_policy: None,
            context_sections: ContextSections::default(),
            realtime: None,
            replay: None,
            serves_queue: false,
        }
    }
}
