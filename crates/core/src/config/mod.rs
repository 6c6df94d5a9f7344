//! The values that a session is made from. Where they come from is not the engine's business.

mod agents;
mod hooks;
mod mcp;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_exec_policy::RuleSet;
use codex_protocol::{
    DynamicToolSpec, SessionSource, ThreadSettings, Verbosity, WebSearchMode, WebSearchToolConfig,
};
use codex_rollout::PersistedDetail;
use codex_sandbox::EngineFiles;
use codex_skills::SkillLibrary;

pub use agents::{AgentRole, AgentSettings, Roles};
pub(crate) use agents::{DEFAULT_ROLE, all_roles, find_role};
pub use hooks::{EndedTurn, InstructionFiles, Limits, TurnEnded};
pub use mcp::{McpApprovals, McpServer, ToolApproval};

/// What a session starts with.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// The home folder of the engine.
    pub home: PathBuf,
    /// What it is set to at first.
    pub settings: ThreadSettings,
    /// The model of reviews, if it is another one.
    pub review_model: Option<String>,
    /// How much to write.
    pub verbosity: Option<Verbosity>,
    /// What it may be set to later; anything, if there are no limits.
    pub limits: Option<Arc<dyn Limits>>,
    /// Rules about commands.
    pub rules: RuleSet,
    /// Instructions in place of ours.
    pub base_instructions: Option<String>,
    /// Instructions on top.
    pub developer_instructions: Option<String>,
    /// The request for a summary, in place of ours.
    pub compact_prompt: Option<String>,
    /// Tools that the client carries out.
    pub dynamic_tools: Vec<DynamicToolSpec>,
    /// The MCP servers.
    pub mcp_servers: Vec<McpServer>,
    /// Where leave to call their tools is kept, beyond the thread.
    pub mcp_approvals: Option<Arc<dyn McpApprovals>>,
    /// Web searches.
    pub web_search: WebSearch,
    /// What files say to the model about the working folder.
    pub user_instructions: Option<Arc<str>>,
    /// Those files, for agents that work elsewhere.
    pub instruction_files: Option<Arc<dyn InstructionFiles>>,
    /// The skills of this machine.
    pub skills: Option<Arc<SkillLibrary>>,
    /// Whether what people type is kept for recalling it.
    pub message_history: MessageHistory,
    /// What is switched on.
    pub features: Features,
    /// Snapshots of the working tree before each turn, to go back to.
    pub snapshots: Option<Snapshots>,
    /// Tokens of a tool's output, in place of the model's own limit.
    pub tool_output_tokens: Option<u64>,
    /// The base figure of the context window, in place of the model's own.
    pub context_window: Option<i64>,
    /// At how many tokens to compact, where that is lower than the model's own.
    pub auto_compact_limit: Option<i64>,
    /// The environment of commands, the id of the thread excepted.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// The user's shell.
    pub shell: PathBuf,
    /// Whether the model may ask for a login shell.
    pub allow_login_shell: bool,
    /// How often to repeat a request whose stream failed.
    pub stream_max_retries: u32,
    /// Who started the thread.
    pub source: SessionSource,
    /// The client's name.
    pub originator: String,
    /// The version to write into the rollout.
    pub version: String,
    /// Whether to leave no file.
    pub ephemeral: bool,
    /// The agents that the model may start; none if it may not.
    pub agents: Option<AgentSettings>,
    /// How much to keep in the file.
    pub detail: PersistedDetail,
    /// Whether to tell every item that is recorded in the history.
    pub raw_items: bool,
    /// Whether to tell the stored events of a loaded thread when it is configured.
    pub replay_events: bool,
    /// Whether to tell the reasoning itself once it is complete.
    pub show_raw_reasoning: bool,
    /// Whether the model is taken to sum up its reasoning, whatever is known of it.
    pub reasoning_summaries: bool,
    /// The longest that a background command is waited for.
    pub longest_poll: Duration,
    /// Who is told of turns that have ended.
    pub turn_ended: Option<Arc<dyn TurnEnded>>,
    /// What the engine goes by, kept from commands.
    pub engine_files: Arc<EngineFiles>,
}

impl SessionConfig {
    /// Reads what files say about the working folder. Called where that may take its time.
    pub fn read_instructions(&mut self) {
        let files = self.instruction_files.as_ref();
        let text = files.and_then(|files| files.read(&self.settings.cwd));
        self.user_instructions = text.map(Arc::from);
    }

    /// Everything at its default.
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
            base_instructions: None,
            developer_instructions: None,
            compact_prompt: None,
            dynamic_tools: Vec::new(),
            mcp_servers: Vec::new(),
            mcp_approvals: None,
            web_search: WebSearch::default(),
            user_instructions: None,
            instruction_files: None,
            skills: None,
            message_history: MessageHistory::default(),
            features: Features::default(),
            snapshots: None,
            tool_output_tokens: None,
            context_window: None,
            auto_compact_limit: None,
            environment: Arc::default(),
            shell: PathBuf::from("/bin/bash"),
            allow_login_shell: true,
            stream_max_retries: 5,
            source: SessionSource::default(),
            originator: "codex_cli_rs".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ephemeral: false,
            agents: None,
            detail: PersistedDetail::default(),
            raw_items: false,
            replay_events: true,
            show_raw_reasoning: false,
            reasoning_summaries: false,
            longest_poll: Duration::from_secs(300),
            turn_ended: None,
        }
    }
}

impl SessionConfig {
    /// The temporary folder of commands.
    pub(crate) fn tmpdir(&self) -> Option<PathBuf> {
        let tmpdir = self.environment.get(OsStr::new("TMPDIR"));
        tmpdir.map(PathBuf::from)
    }
}

/// Whether what people type is kept for recalling it, over all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHistory {
    /// Whether it is.
    pub keep: bool,
    /// How large its file may grow.
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

/// Whether the model may search the web, which its provider does for it.
#[derive(Clone, Debug, PartialEq)]
pub struct WebSearch {
    /// Whether it may, and in what.
    pub mode: WebSearchMode,
    /// Whether stored results become live ones for turns with full access to everything else.
    pub live_with_full_access: bool,
    /// How searches are narrowed.
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

/// What is left out of snapshots. Without a limit, nothing is.
#[derive(Clone, Copy, Debug)]
pub struct Snapshots {
    /// Untracked files with more bytes.
    pub max_file_bytes: Option<u64>,
    /// Untracked folders with as many files.
    pub max_folder_files: Option<u64>,
    /// Whether to say nothing of it.
    pub quiet: bool,
}

/// What is switched on.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// Any shell tool at all.
    pub shell_tool: bool,
    /// Shell sessions that go on.
    pub unified_exec: bool,
    /// `apply_patch` as free text, whatever the model.
    pub apply_patch_freeform: bool,
    /// The tool that asks for permissions.
    pub request_permissions: bool,
    /// Permissions asked for together with a command.
    pub exec_permissions: bool,
    /// Questions to the user outside plan mode.
    pub default_mode_questions: bool,
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
        }
    }
}
