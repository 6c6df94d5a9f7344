//! The configuration of a session, as values. Reading it from files is not part of the engine.

mod agents;
mod client_hooks;
mod confinement;
mod context_sections;
mod hidden;
mod hooks;
mod mcp;
mod network;
mod realtime;
mod replay;
mod session_hooks;
mod suggestions;
mod writable_files;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_checkpoints::CheckpointStore;
use codex_exec_policy::RuleSet;
use codex_model_client::{ModelInfo, ToolMode};
use codex_plugins::PluginRegistry;
use codex_protocol::{
    DynamicToolSpec, SessionSource, ThreadSettings, Verbosity, WebSearchMode, WebSearchToolConfig,
};
use codex_rollout::PersistedDetail;
use codex_sandbox::{EngineFiles, NetworkLimits};
use codex_skills::SkillLibrary;
use serde::{Deserialize, Serialize};

pub use agents::{AgentJobs, AgentRole, AgentSettings, RoleUnavailable, Roles, TeamSettings};
pub(crate) use agents::{DEFAULT_ROLE, all_roles, find_role};
pub use client_hooks::{ClientHook, ClientHookCall, ClientHookError, ClientHooks};
pub(crate) use confinement::{policy_of, writing};
pub use context_sections::ContextSections;
pub use hidden::HiddenThread;
pub use hooks::{
    EndedTurn, HostCall, HostToolError, HostTools, InstructionFiles, Limits, NotAllowed, TurnEnded,
};
pub use mcp::{ApprovalNotStored, AppsServer, McpApprovals, McpServer, ToolApproval};
pub(crate) use network::{closed_network, within_limits};
pub use realtime::{
    PreparedRealtime, RealtimeService, RealtimeStart, RealtimeThread, RealtimeUnavailable,
};
pub use replay::{
    FinishedHook, HooksRun, RecordedAnswer, RecordedFailure, ReplaySource, TakenInput,
};
pub use session_hooks::{HookDecisionSource, SessionHooks};
pub use suggestions::{SuggestionKind, ToolSuggestion, ToolSuggestions};
pub use writable_files::{WritableFiles, is_sandboxed};

/// The configuration of a session.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// The home folder of the engine.
    pub home: PathBuf,
    /// The first settings of the thread.
    pub settings: ThreadSettings,
    /// The model of reviews, if it differs.
    pub review_model: Option<String>,
    /// The verbosity of the model.
    pub verbosity: Option<Verbosity>,
    /// The limits of later changes of settings.
    pub limits: Option<Arc<dyn Limits>>,
    /// Rules about commands.
    pub rules: RuleSet,
    /// What limits the network of commands to certain hosts.
    pub network_limits: Arc<NetworkLimits>,
    /// Base instructions in place of the default ones.
    pub base_instructions: Option<String>,
    /// Additional instructions.
    pub developer_instructions: Option<String>,
    /// The prompt for a summary, in place of the default one.
    pub compact_prompt: Option<String>,
    /// Tools of the client.
    pub dynamic_tools: Vec<DynamicToolSpec>,
    /// Tools that the embedder carries out.
    pub host_tools: Option<Arc<dyn HostTools>>,
    /// The MCP servers.
    pub mcp_servers: Vec<McpServer>,
    /// Whether the tools of a server are offered in its namespace. Otherwise their names begin with that of the server.
    pub mcp_namespaces: bool,
    /// What the model may suggest to install.
    pub suggestions: Option<Arc<dyn ToolSuggestions>>,
    /// Stores approvals of MCP tools for later threads.
    pub mcp_approvals: Option<Arc<dyn McpApprovals>>,
    /// Web searches.
    pub web_search: WebSearch,
    /// The text of the instruction files for the working folder.
    pub user_instructions: Option<Arc<str>>,
    /// Reads the instruction files for agents in other folders.
    pub instruction_files: Option<Arc<dyn InstructionFiles>>,
    /// The skills of this machine.
    pub skills: Option<Arc<SkillLibrary>>,
    /// The summary of memories.
    pub memory_summary: Option<Arc<str>>,
    /// Whether memories are made of the thread, as a word for its file; by default they may be.
    pub memory_mode: Option<&'static str>,
    /// The plugins of the user.
    pub plugins: Option<Arc<PluginRegistry>>,
    /// Whether input of the user is kept for recalling it.
    pub message_history: MessageHistory,
    /// The features that are enabled.
    pub features: Features,
    /// How scripts of the model run; none if they cannot.
    pub code_mode: Option<CodeMode>,
    /// How the console of the model runs; none if it has none.
    pub js_repl: Option<JsRepl>,
    /// Keeps what files were before turns change them.
    pub checkpoints: Option<CheckpointSettings>,
    /// The token limit for the output of a tool, in place of the model's.
    pub tool_output_tokens: Option<u64>,
    /// The size of the context window, in place of the model's.
    pub context_window: Option<i64>,
    /// The token limit for compaction, if it is lower than the model's.
    pub auto_compact_limit: Option<i64>,
    /// The environment of commands, without the id of the thread.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// The user's shell.
    pub shell: PathBuf,
    /// Whether MCP servers may ask for forms that are more than flat fields.
    pub takes_openai_forms: bool,
    /// Whether the model may ask for a login shell.
    pub allow_login_shell: bool,
    /// The maximum number of repeats of a request whose stream failed.
    pub stream_max_retries: u32,
    /// What started the thread.
    pub source: SessionSource,
    /// The name of the client.
    pub originator: String,
    /// The version that is written to the rollout.
    pub version: String,
    /// Whether the thread has no file.
    pub ephemeral: bool,
    /// Whether the thread belongs to the one that it is forked from.
    pub is_side_thread: bool,
    /// Whether the items of its history have no ids and times of their own, as its client chose.
    pub has_legacy_history: bool,
    /// Whether its file is written so that newer engines show all of it.
    pub has_paginated_history: bool,
    /// What the client says about the origin of the thread; stored with it.
    pub thread_source: Option<String>,
    /// The settings for agents; none if the model may start none.
    pub agents: Option<AgentSettings>,
    /// How jobs of agents are kept; none if the model may start none.
    pub agent_jobs: Option<AgentJobs>,
    /// The events that are written to the rollout.
    pub detail: PersistedDetail,
    /// Whether to emit every item that is recorded in the history.
    pub raw_items: bool,
    /// Whether `session_configured` contains the stored events of a loaded thread.
    pub replay_events: bool,
    /// Whether to emit the raw reasoning when it is complete.
    pub show_raw_reasoning: bool,
    /// Whether to request reasoning summaries whatever is known about the model.
    pub reasoning_summaries: bool,
    /// The longest wait for a background command.
    pub longest_poll: Duration,
    /// The configured hooks.
    pub hooks: SessionHooks,
    /// What is wrong with configured hooks, in sentences for the user.
    pub hook_warnings: Vec<String>,
    /// The hooks of connected clients.
    pub client_hooks: Option<Arc<dyn ClientHooks>>,
    /// Is notified of turns that have ended.
    pub turn_ended: Option<Arc<dyn TurnEnded>>,
    /// The files that control the engine. Commands cannot change them.
    pub engine_files: Arc<EngineFiles>,
    /// Whether the user chose the sandbox of Windows, which changes the access lists of folders.
    pub restricted_token: bool,
    /// The instructions of reviewers of approvals, in place of the built-in ones.
    pub reviewer_policy: Option<Arc<str>>,
    /// Which parts of the context the model gets.
    pub context_sections: ContextSections,
    /// Knows the server of realtime conversations; none if the thread has none.
    pub realtime: Option<Arc<dyn RealtimeService>>,
    /// Provides what was recorded, when a recorded session runs again.
    pub replay: Option<Arc<dyn ReplaySource>>,
    /// Whether the client speaks the queue protocol: more input of the user aborts the running task, a command begins
    /// once it is approved, and the end of each response is an event. It does not hold for agents.
    pub serves_queue: bool,
}

impl SessionConfig {
    /// Reads the instruction files for the working folder. Blocks on the file system.
    pub fn read_instructions(&mut self) {
        let files = self.instruction_files.as_ref();
        let cwd = (!self.settings.without_environment).then_some(&*self.settings.cwd);
        let text = files.and_then(|files| files.read(cwd));
        self.user_instructions = text.map(Arc::from);
    }

    /// A configuration with all defaults.
    #[must_use]
    pub fn new(home: impl Into<PathBuf>, cwd: impl Into<PathBuf>, model: &str) -> Self {
        let home = home.into();
        Self {
            engine_files: Arc::new(EngineFiles::of_home(&home)),
            home,
            settings: ThreadSettings::new(cwd, model),
            review_model: None,
            verbosity: None,
            limits: None,
            rules: RuleSet::default(),
            network_limits: Arc::default(),
            base_instructions: None,
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
            message_history: MessageHistory::default(),
            features: Features::default(),
            code_mode: None,
            js_repl: None,
            checkpoints: None,
            tool_output_tokens: None,
            context_window: None,
            auto_compact_limit: None,
            environment: Arc::default(),
            shell: PathBuf::from("/bin/bash"),
            takes_openai_forms: false,
            allow_login_shell: true,
            stream_max_retries: 5,
            source: SessionSource::default(),
            originator: "codex_cli_rs".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ephemeral: false,
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
            longest_poll: Duration::from_secs(300),
            hooks: SessionHooks::default(),
            hook_warnings: Vec::new(),
            client_hooks: None,
            turn_ended: None,
            restricted_token: false,
            reviewer_policy: None,
            context_sections: ContextSections::default(),
            realtime: None,
            replay: None,
            serves_queue: false,
        }
    }
}

impl SessionConfig {
    /// The temporary folder of commands.
    pub(crate) fn tmpdir(&self) -> Option<PathBuf> {
        codex_sandbox::temporary_folder(&self.environment)
    }
}

/// Whether input of the user is kept for recalling it, over all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// How scripts of the model run.
#[derive(Clone, Debug)]
pub struct CodeMode {
    /// The program whose kernel runs them: this one.
    pub program: PathBuf,
    /// How models call tools that do not say it themselves.
    pub mode: ToolMode,
    /// The namespaces whose tools scripts cannot call.
    pub excluded_namespaces: Vec<String>,
}

impl CodeMode {
    /// How a model calls tools.
    pub(crate) fn mode_of(&self, model: &ModelInfo) -> ToolMode {
        model.tool_mode.unwrap_or(self.mode)
    }
}

/// How the console of the model runs.
#[derive(Clone, Debug)]
pub struct JsRepl {
    /// The program whose kernel runs it: this one.
    pub program: PathBuf,
    /// Whether the model calls tools through it alone.
    pub only: bool,
}

/// How what files were before turns change them is kept.
#[derive(Clone, Debug)]
pub struct CheckpointSettings {
    /// Where.
    pub store: Arc<CheckpointStore>,
    /// Whether the effects of commands are watched.
    pub commands: bool,
}

/// The features that are enabled.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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
