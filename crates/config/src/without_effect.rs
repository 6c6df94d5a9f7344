//! Settings that are accepted and validated but have no effect.

/// The names of these settings in files. docs/status.md lists the same names.
pub const WITHOUT_EFFECT: &[&str] = &[
    "analytics",
    "browser_use",
    "computer_use",
    "desktop",
    "ghost_snapshot",
    "js_repl_node_module_dirs",
    "js_repl_node_path",
    "otel",
    "windows.sandbox_private_desktop",
    "zsh_path",
];
