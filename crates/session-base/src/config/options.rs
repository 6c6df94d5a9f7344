//! The values of a session: all that shapes its requests and decisions. A trace has all of them, and a replay uses them.

use std::path::PathBuf;
use std::time::Duration;

use codex_exec_policy::RuleSet;
use codex_protocol::{DynamicToolSpec, ThreadSettings, Verbosity};
use codex_rollout::PersistedDetail;
use codex_sandbox::NetworkLimits;
use serde::{Deserialize, Serialize};

use super::{
    AdministratorLimits, AgentJobs, AgentSettings, CheckpointOptions, CodeMode, CompactionRules,
    ContextSections, Features, JsRepl, MessageHistory, WebSearch,
};

/// The values of a session. What older traces do not have is as it is by default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default = "SessionOptions::missing")]
pub struct SessionOptions {
    /// The first settings of the thread.
    pub settings: ThreadSettings,
    /// The models that go on with a turn whose model cannot.
    pub model_fallbacks: Vec<String>,
    /// How long a request may wait in all for a usage limit to be reset.
    pub usage_limit_wait: Duration,
    /// The model of reviews, if it differs.
    pub review_model: Option<String>,
    /// The verbosity of the model.
    pub verbosity: Option<Verbosity>,
    /// The limits of an administrator on later changes of settings.
    pub limits: AdministratorLimits,
    /// Rules about commands.
    pub rules: RuleSet,
    /// What limits the network of commands to certain hosts.
    pub network_limits: NetworkLimits,
    /// Base instructions in place of the default ones.
    pub base_instructions: Option<String>,
    /// Additional instructions.
    pub developer_instructions: Option<String>,
    /// The prompt for a summary, in place of the default one.
    pub compact_prompt: Option<String>,
    /// The text of the instruction files for the working folder.
    pub user_instructions: Option<String>,
    /// The summary of memories.
    pub memory_summary: Option<String>,
    /// Whether memories are made of the thread, as a word for its file; by default they may be.
    pub memory_mode: Option<String>,
    /// The instructions of reviewers of approvals, in place of the built-in ones.
    pub reviewer_policy: Option<String>,
    /// Which parts of the context the model gets.
    pub context_sections: ContextSections,
    /// Tools of the client.
    pub dynamic_tools: Vec<DynamicToolSpec>,
    /// Web searches.
    pub web_search: WebSearch,
    /// The features that are enabled.
    pub features: Features,
    /// Whether the tools of a server are offered in its namespace. Otherwise their names begin with that of the server.
    pub mcp_namespaces: bool,
    /// How models write scripts; none if they cannot.
    pub code_mode: Option<CodeMode>,
    /// How the model has a console; none if it has none.
    #[serde(rename = "console_only")]
    pub js_repl: Option<JsRepl>,
    /// Keeps what files were before turns change them.
    pub checkpoints: Option<CheckpointOptions>,
    /// Whether input of the user is kept for recalling it.
    pub message_history: MessageHistory,
    /// The token limit for the output of a tool, in place of the model's.
    pub tool_output_tokens: Option<u64>,
    /// The size of the context window, in place of the model's.
    pub context_window: Option<i64>,
    /// The token limit for compaction, if it is lower than the model's.
    pub auto_compact_limit: Option<i64>,
    /// What else decides when the history is compacted.
    pub compaction: CompactionRules,
    /// The user's shell.
    pub shell: PathBuf,
    /// Whether MCP servers may ask for forms that are more than flat fields.
    pub takes_openai_forms: bool,
    /// Whether the model may ask for a login shell.
    pub allow_login_shell: bool,
    /// Whether the user chose the sandbox of Windows, which changes the access lists of folders.
    pub restricted_token: bool,
    /// The longest wait for a background command.
    pub longest_poll: Duration,
    /// The maximum number of repeats of a request whose stream failed.
    pub stream_max_retries: u32,
    /// The settings for agents; none if the model may start none.
    pub agents: Option<AgentSettings>,
    /// How jobs of agents run; none if the model may start none.
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
    /// Whether clients are told where a request does not begin like the one before it.
    pub prompt_cache_notices: bool,
    /// What is wrong with configured hooks, in sentences for the user.
    pub hook_warnings: Vec<String>,
    /// Whether the client speaks the queue protocol: more input of the user aborts the running task, a command begins
    /// once it is approved, and the end of each response is an event. It does not hold for agents.
    pub serves_queue: bool,
}

impl SessionOptions {
    /// All defaults.
    #[must_use]
    pub fn new(cwd: impl Into<PathBuf>, model: &str) -> Self {
        Self {
            settings: ThreadSettings::new(cwd, model),
            model_fallbacks: Vec::new(),
            usage_limit_wait: Duration::ZERO,
            review_model: None,
            verbosity: None,
            limits: AdministratorLimits::default(),
            rules: RuleSet::default(),
            network_limits: NetworkLimits::default(),
            base_instructions: None,
            developer_instructions: None,
            compact_prompt: None,
            user_instructions: None,
            memory_summary: None,
            memory_mode: None,
            reviewer_policy: None,
            context_sections: ContextSections::default(),
            dynamic_tools: Vec::new(),
            web_search: WebSearch::default(),
            features: Features::default(),
            mcp_namespaces: false,
            code_mode: None,
            js_repl: None,
            checkpoints: None,
            message_history: MessageHistory::default(),
            tool_output_tokens: None,
            context_window: None,
            auto_compact_limit: None,
            compaction: CompactionRules::default(),
            shell: PathBuf::from("/bin/bash"),
            takes_openai_forms: false,
            allow_login_shell: true,
            restricted_token: false,
            longest_poll: Duration::from_secs(300),
            stream_max_retries: 5,
            agents: None,
            agent_jobs: None,
            detail: PersistedDetail::default(),
            raw_items: false,
            replay_events: true,
            show_raw_reasoning: false,
            reasoning_summaries: false,
            prompt_cache_notices: false,
            hook_warnings: Vec::new(),
            serves_queue: false,
        }
    }

    /// What members have that a trace does not contain.
    fn missing() -> Self {
        Self::new("", "")
    }
}
