//! Which settings of a project take effect.
//!
//! The rule: nothing that a sandboxed command may have written decides what runs outside the sandbox. The sandbox denies
//! commands write access to the `.codex` folders of all folders that the user's settings trust, of their git worktrees,
//! and of the ancestors of the working folder. Any other `.codex` folder below a trusted project may have been written by
//! a command. It may choose a model and ask for more approvals; settings that could weaken the sandbox or run a program
//! are ignored.

use std::path::Path;

use toml::{Table, Value};

use crate::project::worktree_of;
use crate::trust::TrustDecision;

/// Settings that no project may make: they redirect credentials, run programs outside the sandbox, or control what the
/// user trusts.
const NOT_FOR_PROJECTS: &[&str] = &[
    "chatgpt_base_url",
    "log_dir",
    "mcp_oauth_callback_port",
    "mcp_oauth_callback_url",
    "mcp_oauth_credentials_store",
    "model_providers",
    "notify",
    "openai_base_url",
    "otel",
    "profile",
    "profiles",
    "projects",
    "sqlite_home",
];

/// Settings that do not affect what may run or be accessed.
const HARMLESS: &[&str] = &[
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
        if named && !codex_sandbox::is_shared_folder(folder) {
            Self::Project
        } else {
            Self::Harmless
        }
    }

    /// Whether a setting takes effect.
    pub(crate) fn includes(self, key: &str, value: &Value) -> bool {
        match self {
            Self::Everything => true,
            Self::Project => !NOT_FOR_PROJECTS.contains(&key),
            Self::Harmless => {
                let stricter =
                    key == "approval_policy" && value.as_str() == Some(STRICTEST_APPROVAL);
                stricter || HARMLESS.contains(&key)
            }
        }
    }

    /// The settings of a table that do not take effect.
    pub(crate) fn withheld(self, table: &Table) -> Vec<&str> {
        let withheld = table
            .iter()
            .filter(|(key, value)| !self.includes(key, value));
        withheld.map(|(key, _)| key.as_str()).collect()
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
