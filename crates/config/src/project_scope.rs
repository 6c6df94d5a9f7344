//! Which settings of a project take effect.
//!
//! The rule: nothing that a sandboxed command may have written decides what runs outside the sandbox. The sandbox denies
//! commands write access to the `.codex` folders of all folders that the user's settings trust, of their git worktrees,
//! and of the ancestors of the working folder. Any other `.codex` folder below a trusted project may have been written by
//! a command. It may choose a model and ask for more approvals; settings that could weaken the sandbox or run a program
//! are ignored.
//!
//! A trusted project says how the model works in it. It does not say whom a person trusts: where requests and
//! credentials go, who logs in and how, which hooks and tools run unasked, who decides in place of a person, what is
//! recorded where, and what one may use. docs/security.md has the list.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use toml::{Table, Value};

use crate::features::Feature;
use crate::project::worktree_of;
use crate::trust::TrustDecision;

/// Settings that no project may make.
const NOT_FOR_PROJECTS: &[&str] = &[
    "allow_symlinked_codex_home",
    "analytics",
    "approvals_reviewer",
    "apps",
    "apps_mcp_product_sku",
    "auto_review",
    "browser_use",
    "chatgpt_base_url",
    "checkpoints",
    "cli_auth_credentials_store",
    "client_release",
    "cloud",
    "code_mode",
    "computer_use",
    "daybreak",
    "desktop",
    "environments",
    "experimental_realtime_webrtc_call_base_url",
    "experimental_realtime_ws_base_url",
    "experimental_thread_store",
    "experimental_thread_store_endpoint",
    "feedback",
    "forced_chatgpt_workspace_id",
    "forced_login_method",
    "goals",
    "history",
    "js_repl_node_module_dirs",
    "js_repl_node_path",
    "limits",
    "log_dir",
    "marketplaces",
    "mcp_enterprise_managed_auth",
    "mcp_oauth_callback_port",
    "mcp_oauth_callback_url",
    "mcp_oauth_credentials_store",
    "mcp_optional_startup_grace_ms",
    "memories",
    "model_fallbacks",
    "model_provider",
    "model_providers",
    "notify",
    "openai_base_url",
    "orchestrator",
    "oss_provider",
    "otel",
    "plugins",
    "profile",
    "profiles",
    "projects",
    "responses",
    "responses_api_metadata",
    "rollout_trace",
    "secrets",
    "sqlite_home",
    "suppress_unstable_features_warning",
    "thread_unload_delay_secs",
    "traces",
    "usage_limit_wait_seconds",
    "zsh_path",
];

/// Parts of settings that no project may make: `*` is any name. Features are listed by themselves.
const PARTS_NOT_FOR_PROJECTS: &[&[&str]] = &[
    &["hooks", "state"],
    &["mcp_servers", "*", "default_tools_approval_mode"],
    &["mcp_servers", "*", "environment_id"],
    &["mcp_servers", "*", "oauth", "callback_url"],
    &["mcp_servers", "*", "tools", "*", "approval_mode"],
    &["shell_environment_policy", "exclude"],
    &["shell_environment_policy", "ignore_default_excludes"],
    &["shell_environment_policy", "include_only"],
    &["shell_environment_policy", "inherit"],
    &["skills", "config"],
];

/// The table of MCP servers.
pub(crate) const MCP_SERVERS: &str = "mcp_servers";

/// What a project may say about an MCP server that the user or the system has configured: neither what runs, nor where it is,
/// nor what it is sent, nor which of its tools there are. It may also switch the server off.
const PARTS_OF_SERVERS_OF_OTHERS: &[&str] = &[
    "required",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "supports_parallel_tool_calls",
    "tool_timeout_sec",
];

/// The table of features.
const FEATURES: &str = "features";

/// Settings that do not affect what may run or be accessed.
const HARMLESS_KEYS: &[&str] = &[
    "commit_attribution",
    "disable_paste_burst",
    "file_opener",
    "hide_agent_reasoning",
    "model",
    "model_auto_compact_token_limit",
    "model_context_window",
    "model_reasoning_effort",
    "model_reasoning_summary",
    "model_supports_reasoning_summaries",
    "model_verbosity",
    "personality",
    "plan_mode_reasoning_effort",
    "project_doc_max_bytes",
    "review_model",
    "service_tier",
    "show_raw_agent_reasoning",
    "tool_output_token_limit",
    "tui",
];

/// Whether a trusted project may make a setting, at least in part.
pub(crate) fn is_for_projects(key: &str) -> bool {
    !NOT_FOR_PROJECTS.contains(&key)
}

/// The strictest approval policy.
const STRICTEST_APPROVAL: &str = "untrusted";

/// Which settings of a layer take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingScope {
    /// All settings; for layers that do not belong to a project.
    Everything,
    /// Settings that a project may make. Sandboxed commands cannot write this layer.
    Project,
    /// Settings that are harmless whoever wrote them.
    Harmless,
}

impl SettingScope {
    /// The scope of the `.codex` folder in a project folder, given the trust decision about it.
    pub(crate) fn of_folder(folder: &Path, decision: Option<&TrustDecision>) -> Self {
        let named = decision.is_some_and(|decision| {
            decision.folder == folder || worktree_of(folder, &decision.folder)
        });
        if named && !codex_project_markers::is_shared_folder(folder) {
            Self::Project
        } else {
            Self::Harmless
        }
    }

    /// The settings of a table that take effect, and the names of the others. The MCP servers of others stay as they are.
    pub(crate) fn split<'t>(
        self,
        table: &'t Table,
        servers_of_others: &BTreeSet<String>,
    ) -> (Cow<'t, Table>, Vec<String>) {
        let mut withheld = Vec::new();
        let mut effective = Table::new();
        for (key, value) in table {
            if !self.includes(key, value) {
                withheld.push(key.clone());
                continue;
            }
            let mut value = value.clone();
            if self == Self::Project {
                remove_parts(key, &mut value, &mut withheld);
                if key == MCP_SERVERS {
                    keep_servers(&mut value, servers_of_others, &mut withheld);
                }
            }
            effective.insert(key.clone(), value);
        }
        if withheld.is_empty() {
            return (Cow::Borrowed(table), withheld);
        }
        (Cow::Owned(effective), withheld)
    }

    /// Whether a setting takes effect, at least in part.
    fn includes(self, key: &str, value: &Value) -> bool {
        match self {
            Self::Everything => true,
            Self::Project => is_for_projects(key),
            Self::Harmless => {
                let stricter =
                    key == "approval_policy" && value.as_str() == Some(STRICTEST_APPROVAL);
                stricter || HARMLESS_KEYS.contains(&key)
            }
        }
    }

    /// What the user can do about ignored settings.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::Everything | Self::Project => "Set them in the user's config.toml instead.",
            Self::Harmless => {
                "Commands in the sandbox may write to this folder. Set them in the root of the \
                 project, or trust this folder itself in the user's config.toml."
            }
        }
    }
}

/// Removes the parts of a setting that no project may make.
fn remove_parts(key: &str, value: &mut Value, removed: &mut Vec<String>) {
    if key == FEATURES
        && let Some(features) = value.as_table_mut()
    {
        features.retain(|name, _| {
            let is_theirs = Feature::parse(name).is_none_or(Feature::is_for_projects);
            if !is_theirs {
                removed.push(format!("{FEATURES}.{name}"));
            }
            is_theirs
        });
    }
    for part in PARTS_NOT_FOR_PROJECTS {
        if let [first, rest @ ..] = part
            && *first == key
        {
            remove_part(value, rest, key, removed);
        }
    }
}

/// Removes what would let a project decide what runs as a server of others, or where that server is.
fn keep_servers(value: &mut Value, of_others: &BTreeSet<String>, removed: &mut Vec<String>) {
    let servers = value.as_table_mut().into_iter().flat_map(Table::iter_mut);
    for (name, server) in servers.filter(|(name, _)| of_others.contains(*name)) {
        let Some(table) = server.as_table_mut() else {
            continue;
        };
        table.retain(|key, value| {
            let is_off = key == "enabled" && value.as_bool() == Some(false);
            let is_theirs = is_off || PARTS_OF_SERVERS_OF_OTHERS.contains(&key);
            if !is_theirs {
                removed.push(format!("{MCP_SERVERS}.{name}.{key}"));
            }
            is_theirs
        });
    }
}

fn remove_part(value: &mut Value, part: &[&str], place: &str, removed: &mut Vec<String>) {
    let Some(table) = value.as_table_mut() else {
        return;
    };
    match part {
        [] => {}
        [last] => {
            if table.remove(*last).is_some() {
                removed.push(format!("{place}.{last}"));
            }
        }
        ["*", rest @ ..] => {
            for (name, value) in table.iter_mut() {
                remove_part(value, rest, &format!("{place}.{name}"), removed);
            }
        }
        [name, rest @ ..] => {
            if let Some(value) = table.get_mut(*name) {
                remove_part(value, rest, &format!("{place}.{name}"), removed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings_schema::settings_schema;

    /// Settings that a trusted project may make. Every setting is either here or among those that no project may make.
    const FOR_PROJECTS: &[&str] = &[
        "agents",
        "allow_login_shell",
        "approval_policy",
        "audio",
        "background_terminal_max_timeout",
        "check_for_update_on_startup",
        "commit_attribution",
        "compact_prompt",
        "default_permissions",
        "developer_instructions",
        "disable_paste_burst",
        "experimental_compact_prompt_file",
        "experimental_instructions_file",
        "experimental_realtime_start_instructions",
        "experimental_realtime_ws_backend_prompt",
        "experimental_realtime_ws_model",
        "experimental_realtime_ws_startup_context",
        "experimental_use_freeform_apply_patch",
        "experimental_use_unified_exec_tool",
        "features",
        "file_opener",
        "ghost_snapshot",
        "hide_agent_reasoning",
        "hooks",
        "include_apps_instructions",
        "include_collaboration_mode_instructions",
        "include_environment_context",
        "include_environment_context_time",
        "include_permissions_instructions",
        "instructions",
        "mcp_servers",
        "model",
        "model_auto_compact_token_limit",
        "model_auto_compact_token_limit_scope",
        "model_catalog_json",
        "model_context_window",
        "model_instructions_file",
        "model_post_turn_compact_threshold_percent",
        "model_reasoning_effort",
        "model_reasoning_summary",
        "model_supports_reasoning_summaries",
        "model_verbosity",
        "notice",
        "permissions",
        "personality",
        "plan_mode_reasoning_effort",
        "project_doc_fallback_filenames",
        "project_doc_follow_changes",
        "project_doc_max_bytes",
        "project_root_markers",
        "prompt_cache_notices",
        "realtime",
        "review_model",
        "sandbox_mode",
        "sandbox_workspace_write",
        "service_tier",
        "shell_environment_policy",
        "show_raw_agent_reasoning",
        "skills",
        "tool_output_token_limit",
        "tool_suggest",
        "tools",
        "tui",
        "web_search",
        "windows",
        "windows_wsl_setup_acknowledged",
    ];

    #[test]
    fn project_sets_only_harmless_keys_of_other_servers() {
        let text = r#"
            [mcp_servers.users]
            url = "http://elsewhere.test"
            enabled = true
            disabled_tools = []
            tool_timeout_sec = 5
            [mcp_servers.switched_off]
            enabled = false
            [mcp_servers.own]
            url = "http://own.test"
        "#;
        let table: Table = text.parse().unwrap();
        let of_others = BTreeSet::from(["users".to_owned(), "switched_off".to_owned()]);
        let (effective, mut withheld) = SettingScope::Project.split(&table, &of_others);
        withheld.sort();
        assert_eq!(
            withheld,
            [
                "mcp_servers.users.disabled_tools",
                "mcp_servers.users.enabled",
                "mcp_servers.users.url"
            ]
        );
        let expected = r#"
            [mcp_servers.users]
            tool_timeout_sec = 5
            [mcp_servers.switched_off]
            enabled = false
            [mcp_servers.own]
            url = "http://own.test"
        "#;
        assert_eq!(*effective, expected.parse().unwrap());
    }

    #[test]
    fn every_setting_is_either_for_projects_or_not() {
        let schema = settings_schema();
        let known = schema["properties"].as_object().unwrap();
        let known: Vec<&str> = known.keys().map(String::as_str).collect();
        for key in &known {
            let lists = [FOR_PROJECTS, NOT_FOR_PROJECTS];
            let count = lists.iter().filter(|list| list.contains(key)).count();
            assert_eq!(count, 1, "`{key}` is in one list");
        }
        for key in FOR_PROJECTS.iter().chain(NOT_FOR_PROJECTS) {
            assert!(known.contains(key), "`{key}` is a setting");
        }
        for key in HARMLESS_KEYS {
            assert!(FOR_PROJECTS.contains(key), "`{key}` is for projects");
        }
    }

    #[test]
    fn settings_not_for_projects_are_removed() {
        let table: Table = r#"
            model = "m"
            [features]
            codex_hooks = true
            hooks = false
            guardian_approval = true
            network_proxy = { enabled = false }
            undo = true
            later = true
            [hooks.state."k"]
            trusted_hash = "h"
            [[hooks.Stop]]
            hooks = []
            [mcp_servers.s]
            command = "c"
            default_tools_approval_mode = "approve"
            [mcp_servers.s.tools.t]
            approval_mode = "approve"
            enabled = true
            [shell_environment_policy]
            inherit = "all"
            set = { A = "b" }
            [skills]
            config = []
        "#
        .parse()
        .unwrap();
        let (effective, mut withheld) = SettingScope::Project.split(&table, &BTreeSet::new());
        withheld.sort();
        assert_eq!(
            withheld,
            [
                "features.codex_hooks",
                "features.guardian_approval",
                "features.hooks",
                "features.network_proxy",
                "hooks.state",
                "mcp_servers.s.default_tools_approval_mode",
                "mcp_servers.s.tools.t.approval_mode",
                "shell_environment_policy.inherit",
                "skills.config",
            ]
        );
        let expected: Table = r#"
            model = "m"
            skills = {}
            [features]
            undo = true
            later = true
            [[hooks.Stop]]
            hooks = []
            [mcp_servers.s]
            command = "c"
            [mcp_servers.s.tools.t]
            enabled = true
            [shell_environment_policy.set]
            A = "b"
        "#
        .parse()
        .unwrap();
        assert_eq!(*effective, expected);
        let (all, none) = SettingScope::Everything.split(&table, &BTreeSet::new());
        assert_eq!((&*all, none.len()), (&table, 0));
    }
}
