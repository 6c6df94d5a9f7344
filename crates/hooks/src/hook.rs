//! A configured hook.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_protocol::{HookEventName, HookScope, HookSource};
use serde_json::{Map, Value};

use crate::hook_files::{FileCheck, HookFiles};
use crate::matcher::Matcher;

/// A configured hook.
#[derive(Clone, Debug)]
pub struct Hook {
    /// Identifies the hook in the user's settings: file, event, index of the group, index in the group.
    pub key: String,
    /// The occasion.
    pub event: HookEventName,
    /// What a run does.
    pub action: HookAction,
    /// Restricts the occasions.
    pub matcher: Matcher,
    /// A run that takes longer is killed.
    pub timeout: Duration,
    /// What clients show during a run.
    pub status_message: Option<String>,
    /// The token limit for additional context.
    pub context_limit: Option<u64>,
    /// The effect of a run that fails.
    pub on_error: OnError,
    /// Which layer of the settings configures the hook.
    pub source: HookSource,
    /// The file that configures it.
    pub source_path: PathBuf,
    /// The plugin that brings the hook.
    pub plugin: Option<Arc<HookPlugin>>,
    /// The position in lists.
    pub display_order: i64,
    /// Whether the user left it switched on.
    pub enabled: bool,
    /// A hash of everything that determines what the hook does.
    pub hash: String,
    /// A hash of the definition alone.
    pub(crate) definition: String,
    /// Whether the user trusts it.
    pub trust: HookTrust,
    /// What has to be true of its files when it runs.
    pub check: FileCheck,
    /// Its files, as they are now.
    pub files: HookFiles,
}

/// A plugin that brings hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookPlugin {
    /// Its id.
    pub id: String,
    /// Its folder.
    pub root: PathBuf,
    /// Where its hooks may keep data.
    pub data: PathBuf,
}

impl HookPlugin {
    /// What commands of its hooks find in their environment, and between `${` and `}` in their text.
    #[must_use]
    pub fn variables(&self) -> [(&'static str, &Path); 4] {
        [
            ("PLUGIN_ROOT", &self.root),
            ("PLUGIN_DATA", &self.data),
            ("CLAUDE_PLUGIN_ROOT", &self.root),
            ("CLAUDE_PLUGIN_DATA", &self.data),
        ]
    }

    /// The line with the variables filled in.
    pub(crate) fn fill(&self, line: &str) -> String {
        let mut filled = line.to_owned();
        for (name, path) in self.variables() {
            filled = filled.replace(&format!("${{{name}}}"), &path.display().to_string());
        }
        filled
    }
}

/// What a run of a hook does.
#[derive(Clone, Debug, PartialEq)]
pub enum HookAction {
    /// Runs a command.
    Command {
        /// The line for the user's shell.
        line: String,
        /// Whether nobody waits for the end of a run, which then has no effect.
        is_async: bool,
    },
    /// Calls a tool of an MCP server of the thread.
    McpTool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// The arguments, with placeholders.
        input: Map<String, Value>,
    },
}

/// The effect of a run that fails: one that crashes, takes too long or returns what cannot be interpreted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// None.
    #[default]
    Ignore,
    /// That of a run that objects.
    Block,
}

/// Whether the user trusts a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookTrust {
    /// An administrator configured it.
    Managed,
    /// The user has not decided.
    Untrusted,
    /// The user trusts it as it is now.
    Trusted,
    /// The user trusted it, and it was changed since.
    Modified,
}

impl HookTrust {
    pub(crate) fn lets_run(self, trusts_new: bool) -> bool {
        match self {
            Self::Managed | Self::Trusted => true,
            Self::Untrusted => trusts_new,
            Self::Modified => false,
        }
    }
}

impl Hook {
    /// Whether the hook may run. `trusts_new` allows those that the user has not decided about.
    #[must_use]
    pub fn may_run(&self, trusts_new: bool) -> bool {
        self.enabled && self.trust.lets_run(trusts_new)
    }

    /// The id of a run. Runs for a call of a tool are told apart by its id.
    #[must_use]
    pub fn run_id(&self, call_id: Option<&str>) -> String {
        let event = self.event.kebab_case();
        let id = format!(
            "{event}:{}:{}",
            self.display_order,
            self.source_path.display()
        );
        match call_id {
            Some(call) => format!("{id}:{call}"),
            None => id,
        }
    }
}

/// What runs for an event concern.
#[must_use]
pub fn scope_of(event: HookEventName) -> HookScope {
    match event {
        HookEventName::SessionStart | HookEventName::SessionEnd | HookEventName::SubagentStart => {
            HookScope::Thread
        }
        _ => HookScope::Turn,
    }
}

/// The default timeout and the longest one, in seconds. What delays an interrupt or the end of a session is short.
pub(crate) fn timeouts(event: HookEventName) -> (u64, Option<u64>) {
    match event {
        HookEventName::SessionEnd | HookEventName::Interrupt => (1, Some(3)),
        _ => (600, None),
    }
}
