//! How far the settings of a project reach.
//!
//! The rule: nothing that a confined command may have written decides what runs unconfined. The sandbox
//! keeps commands from the `.codex` of every folder that the user's settings name as trusted, of its git
//! worktrees, and of the folders around the working folder. A `.codex` anywhere else below a trusted
//! project may be a command's, whoever trusts the project. It may choose a model, and ask for more
//! approvals; what could loosen the sandbox or run a program is withheld.

use std::path::Path;

use toml::Table;
use toml::Value;

use crate::project::worktree_of;
use crate::trust::TrustDecision;

/// Settings that a project may not make: they send credentials elsewhere, run programs outside of the
/// sandbox, or say what the user trusts.
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

/// Settings that decide nothing about what may run or be reached.
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

/// The approval policy that asks the most.
const STRICTEST_APPROVAL: &str = "untrusted";

/// How far the settings of a layer reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// No project's: everything.
    Everything,
    /// What a project may decide. No confined command writes there.
    Project,
    /// What is harmless whoever wrote it.
    Harmless,
}

impl Reach {
    /// Of the `.codex` in a folder of a project, given what was decided about the folder.
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

    /// What somebody can do whose settings are withheld.
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
