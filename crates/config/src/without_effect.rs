//! Settings that are accepted and validated but have no effect.

/// The names of these settings in files. docs/status.md lists the same names.
pub const WITHOUT_EFFECT: &[&str] = &[
    "agents.job_max_runtime_seconds",
    "analytics",
    "experimental_realtime_start_instructions",
    "experimental_realtime_ws_backend_prompt",
    "experimental_realtime_ws_base_url",
    "experimental_realtime_ws_model",
    "experimental_realtime_ws_startup_context",
    "ghost_snapshot",
    "js_repl_node_module_dirs",
    "js_repl_node_path",
    "memories.consolidation_model",
    "memories.extract_model",
    "memories.generate_memories",
    "memories.max_raw_memories_for_consolidation",
    "memories.max_rollout_age_days",
    "memories.max_rollouts_per_startup",
    "memories.max_unused_days",
    "memories.min_rollout_idle_hours",
    "memories.no_memories_if_mcp_or_web_search",
    "otel",
    "realtime",
    "tool_suggest",
    "windows",
    "zsh_path",
];
