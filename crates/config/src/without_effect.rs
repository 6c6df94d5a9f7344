//! Settings that are accepted and validated but have no effect.

/// The names of these settings in files. docs/status/parts.md lists the same names.
pub const WITHOUT_EFFECT: &[&str] = &[
    "allow_symlinked_codex_home",
    "analytics",
    "apps_mcp_product_sku",
    "browser_use",
    "cloud",
    "code_mode",
    "computer_use",
    "daybreak",
    "desktop",
    "experimental_realtime_webrtc_call_base_url",
    "experimental_thread_store_endpoint",
    "ghost_snapshot",
    "goals",
    "js_repl_node_module_dirs",
    "js_repl_node_path",
    "mcp_enterprise_managed_auth",
    "mcp_optional_startup_grace_ms",
    "orchestrator",
    "otel",
    "responses",
    "responses_api_metadata",
    "windows.sandbox_private_desktop",
    "zsh_path",
];

/// Those among them that other programs write for themselves. Nobody is warned of these.
pub(crate) const OF_OTHER_PROGRAMS: &[&str] = &[
    "analytics",
    "apps_mcp_product_sku",
    "browser_use",
    "cloud",
    "computer_use",
    "desktop",
];
