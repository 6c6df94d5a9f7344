//! The configuration of a session, as values. Reading it from files is not part of the engine.

mod agents;
mod client_hooks;
mod compaction_rules;
mod confinement;
mod context_sections;
mod hooks;
mod identity;
mod limits;
mod machines;
mod mcp;
mod network;
mod options;
mod realtime;
mod replay;
mod services;
mod session_hooks;
mod suggestions;
mod writable_files;

use std::path::PathBuf;

use codex_model_client::{ModelInfo, ToolMode};
use codex_protocol::{WebSearchMode, WebSearchToolConfig};
use serde::{Deserialize, Serialize};

pub use agents::{
    AgentJobs, AgentRole, AgentSettings, RoleSettings, RoleUnavailable, TeamSettings,
};
pub use agents::{DEFAULT_ROLE, all_roles, find_role};
pub use client_hooks::{ClientHook, ClientHookCall, ClientHookError, ClientHooks};
pub use compaction_rules::CompactionRules;
pub use confinement::{policy_of, writing};
pub use context_sections::ContextSections;
pub use hooks::{EndedTurn, HostCall, HostToolError, HostTools, InstructionFiles, TurnEnded};
pub use identity::SessionIdentity;
pub use limits::{AdministratorLimits, AllowedValues, NotAllowed, SandboxKind};
pub use machines::OtherMachines;
pub use mcp::{ApprovalNotStored, AppsServer, McpApprovals, McpServer};
pub use network::{closed_network, listed_hosts, within_limits};
pub use options::SessionOptions;
pub use realtime::{
    PreparedRealtime, RealtimeService, RealtimeStart, RealtimeThread, RealtimeUnavailable,
};
pub use replay::{
    FinishedHook, HooksRun, RecordedAnswer, RecordedFailure, ReplaySource, TakenInput,
};
pub use services::SessionServices;
pub use session_hooks::{HookDecisionSource, SessionHooks};
pub use suggestions::{SuggestionKind, ToolSuggestion, ToolSuggestions};
pub use writable_files::{WritableFiles, is_sandboxed};

/// The configuration of a session.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    pub options: SessionOptions,
    pub services: SessionServices,
    pub identity: SessionIdentity,
}

impl SessionConfig {
    /// A configuration with all defaults.
    #[must_use]
    pub fn new(home: impl Into<PathBuf>, cwd: impl Into<PathBuf>, model: &str) -> Self {
        Self {
            options: SessionOptions::new(cwd, model),
            services: SessionServices::new(home),
            identity: SessionIdentity::default(),
        }
    }

    /// Reads the instruction files for the working folder. Blocks on the file system.
    pub fn read_instructions(&mut self) {
        let files = self.services.instruction_files.as_ref();
        let settings = &self.options.settings;
        let cwd = settings.is_local_first().then_some(&*settings.cwd);
        self.options.user_instructions = files.and_then(|files| files.read(cwd));
    }

    /// The temporary folder of commands.
    pub fn tmpdir(&self) -> Option<PathBuf> {
        codex_sandbox::temporary_folder(&self.services.environment)
    }
}

/// Whether input of the user is kept for recalling it, over all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageHistory {
    /// Whether it is.
    pub keep: bool,
    /// The maximum size of its file.
    pub max_bytes: Option<u64>,
}

impl Default for MessageHistory {
    fn default() -> Self {
        Self {
            keep: true,
            max_bytes: None,
        }
    }
}

/// Whether the model may search the web. The provider does the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebSearch {
    /// Whether it may, and in what.
    pub mode: WebSearchMode,
    /// Whether cached results become live ones for turns with full access.
    pub live_with_full_access: bool,
    /// Filters for searches.
    pub options: Option<WebSearchToolConfig>,
}

impl Default for WebSearch {
    fn default() -> Self {
        Self {
            mode: WebSearchMode::Disabled,
            live_with_full_access: false,
            options: None,
        }
    }
}

/// How models write scripts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeMode {
    /// How models call tools that do not say it themselves.
    pub mode: ToolMode,
    /// The namespaces whose tools scripts cannot call.
    pub excluded_namespaces: Vec<String>,
}

impl CodeMode {
    /// How a model calls tools.
    pub fn mode_of(&self, model: &ModelInfo) -> ToolMode {
        model.tool_mode.unwrap_or(self.mode)
    }
}

/// How the model has a console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JsRepl {
    /// Whether the model calls tools through it alone.
    pub only: bool,
}

/// How what files were before turns change them is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointOptions {
    /// Whether the effects of commands are watched.
    pub commands: bool,
}

/// The features that are enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Features {
    /// Any shell tool.
    pub shell_tool: bool,
    /// Commands that run in the background.
    pub unified_exec: bool,
    /// The free-form `apply_patch` tool for all models.
    pub apply_patch_freeform: bool,
    /// The tool `request_permissions`.
    pub request_permissions: bool,
    /// Requests for permissions together with a command.
    pub exec_permissions: bool,
    /// Questions to the user outside of plan mode.
    pub default_mode_questions: bool,
    /// Images that the provider makes.
    pub image_generation: bool,
    /// Events about a patch while the model writes it.
    pub patch_events: bool,
    /// A search for tools of apps in place of all of them, where there are many.
    pub tool_search: bool,
    /// Other settings for a running turn.
    pub step_model_switching: bool,
}

impl Default for Features {
    fn default() -> Self {
        Self {
            shell_tool: true,
            unified_exec: true,
            apply_patch_freeform: false,
            request_permissions: false,
            exec_permissions: false,
            default_mode_questions: false,
            image_generation: false,
            patch_events: false,
            tool_search: false,
            step_model_switching: false,
        }
    }
}
