//! Settings that are accepted and validated but have no effect.

/// The names of these settings in files. docs/status.md lists the same names.
pub const WITHOUT_EFFECT: &[&str] = &[
    "agents.job_max_runtime_seconds",
    "analytics",
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
    "tool_suggest",
    "windows",
    "zsh_path",
];
