//! The typed form of `config.toml`, of one layer or of all layers merged.
//!
//! All keys are optional; defaults are applied later. Unknown keys are ignored; a value of the wrong type is an
//! error. Serialized, every known key appears, unset ones as null.

mod agents;
mod apps;
mod auto_review;
mod client_release;
mod environments;
mod features;
mod mcp;
mod opaque_table;
mod permissions;
mod profile;
mod provider;
mod sandbox;
mod secrets;
mod services;
mod storage;
mod telemetry;
mod thread_store;
mod tools;
mod ui;
mod workspace_ids;

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::path::PathBuf;

use codex_protocol::{
    ApprovalsReviewer, AskForApproval, ForcedLoginMethod, Personality, ReasoningEffort,
    ReasoningSummary, ServiceTier, ThreadLimits, Verbosity, WebSearchMode,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use agents::{AgentRoleFile, AgentsFile};
pub use apps::{AppDefaults, AppFile, AppToolFile, AppsFile, ToolApprovalMode};
pub use auto_review::AutoReviewFile;
pub use client_release::ClientRelease;
pub use environments::{ContainerEngine, EnvironmentFile, KubernetesFile};
pub use mcp::{McpOAuthFile, McpServer, McpTool, McpTransport};
pub use opaque_table::OpaqueTable;
pub use permissions::{
    FileAccessLevel, FileRule, HostDecision, NetworkFile, NetworkMode, PermissionsFile,
};
pub(crate) use profile::PROFILE_KEYS;
pub use profile::ProfileFile;
pub use provider::ProviderFile;
pub use sandbox::{
    EnvironmentInherit, SandboxMode, ShellEnvironmentFile, WindowsFile, WindowsSandbox,
    WorkspaceWriteFile,
};
pub use secrets::SecretsFile;
pub use services::{AudioFile, CredentialsStore, McpCredentialsStore, RealtimeFile, RealtimeKind};
pub use storage::{
    CheckpointsFile, GhostSnapshotFile, HistoryFile, HistoryPersistence, MemoriesFile,
    RolloutTraceFile, TracesFile,
};
pub use telemetry::{Exporter, FeedbackFile, OtelFile, OtlpProtocol, SwitchFile, TlsFile};
pub use thread_store::{CompactScope, ThreadStoreFile};
pub use tools::{
    BundledSkills, Discoverable, DiscoverableKind, MarketplaceFile, PluginFile, SkillRule,
    SkillsFile, ToolSuggestFile, ToolsFile,
};
pub use ui::{FileOpener, NoticeFile, TuiFile};
pub use workspace_ids::WorkspaceIds;

pub(crate) use features::{is_of_feature, switch};

use crate::trust::TrustLevel;

/// The settings of one file, or of all layers merged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ConfigFile {
    // Model and provider.
    /// The model that answers. Default: the first model of the catalogue that the login may use.
    pub model: Option<String>,
    /// Models of the same provider that go on with a turn whose model is unknown, overloaded or at a limit, in this order.
    #[schemars(extend("x-since" = "own"))]
    pub model_fallbacks: Option<Vec<String>>,
    /// How many seconds a request may wait in all for a usage limit to be reset, after which the turn goes on by itself.
    /// You are told until when it waits, and can interrupt the turn. Default: 0, and the turn fails at once.
    #[schemars(extend("x-since" = "own"))]
    pub usage_limit_wait_seconds: Option<u64>,
    /// The model that reviews changes. Default: `model`.
    pub review_model: Option<String>,
    /// Which entry of `model_providers`, or which built-in provider, answers: `openai`, `ollama`, `lmstudio`,
    /// `llamacpp` or `vllm`.
    /// Default: `openai`.
    pub model_provider: Option<String>,
    /// Model providers by id.
    pub model_providers: BTreeMap<String, ProviderFile>,
    /// The address of the built-in provider `openai`. Default: the hosted service, or what `OPENAI_BASE_URL` says.
    pub openai_base_url: Option<String>,
    /// The address of the account service. Default: `https://chatgpt.com/backend-api/`.
    pub chatgpt_base_url: Option<String>,
    /// The local provider that `--oss` uses: `ollama`, `lmstudio`, `llamacpp` or `vllm`.
    pub oss_provider: Option<String>,
    /// How much the model thinks before it answers. Default: what the catalogue says about the model.
    pub model_reasoning_effort: Option<ReasoningEffort>,
    /// The same, for turns that plan. Default: that of the mode.
    pub plan_mode_reasoning_effort: Option<ReasoningEffort>,
    /// Whether and how the model sums up its thinking. Default: what the catalogue says about the model.
    pub model_reasoning_summary: Option<ReasoningSummary>,
    /// True asks for summaries although the catalogue says that the model has none.
    #[schemars(extend("x-until" = "0.140"))]
    pub model_supports_reasoning_summaries: Option<bool>,
    /// How long answers are. Default: what the catalogue says about the model.
    pub model_verbosity: Option<Verbosity>,
    /// The number of tokens that the model can read. Default: what the catalogue says about the model.
    pub model_context_window: Option<i64>,
    /// The number of tokens from which on the history is summed up. Default: a share of the context window.
    pub model_auto_compact_token_limit: Option<i64>,
    /// What that limit counts.
    #[schemars(extend("x-since" = "0.140"))]
    pub model_auto_compact_token_limit_scope: Option<CompactScope>,
    /// The share of the context window from which on the history is summed up after a turn.
    #[schemars(extend("x-since" = "0.169"))]
    pub model_post_turn_compact_threshold_percent: Option<u8>,
    /// How many tokens of the output of a tool the model sees. Default: what the catalogue says about the model.
    pub tool_output_token_limit: Option<u64>,
    /// A file with a model catalogue, in place of the built-in one.
    pub model_catalog_json: Option<PathBuf>,
    /// The service tier of requests: `fast`, `flex` or another name that the model has.
    pub service_tier: Option<ServiceTier>,
    /// How the model talks. Default: `pragmatic`, for models that have it.
    pub personality: Option<Personality>,
    /// Whether the model may search the web: not at all, in a cache, or live. Default: `cached`.
    pub web_search: Option<WebSearchMode>,
    /// Settings of built-in tools.
    pub tools: Option<ToolsFile>,

    // Instructions and context.
    /// Accepted; use `developer_instructions` or `model_instructions_file`.
    pub instructions: Option<String>,
    /// Instructions that are added to the built-in ones.
    pub developer_instructions: Option<String>,
    /// A file with instructions in place of the built-in ones.
    pub model_instructions_file: Option<PathBuf>,
    /// An older name of `model_instructions_file`; it has no effect, and a warning says so.
    #[schemars(extend("x-until" = "0.117"))]
    pub experimental_instructions_file: Option<PathBuf>,
    /// What the model is asked when the history is summed up, in place of the built-in text.
    pub compact_prompt: Option<String>,
    /// A file with that text.
    pub experimental_compact_prompt_file: Option<PathBuf>,
    /// How many bytes of the AGENTS.md files the model gets. Default: 32768.
    pub project_doc_max_bytes: Option<u64>,
    /// Names of files that are read where a folder has no AGENTS.md.
    pub project_doc_fallback_filenames: Option<Vec<String>>,
    /// Whether the model is told when AGENTS.md files change in mid-session, and of those of folders below that it enters.
    /// Default: true.
    #[schemars(extend("x-since" = "own"))]
    pub project_doc_follow_changes: Option<bool>,
    /// Whether you are told when a request does not begin like the one before it, why, and how many tokens the server reads
    /// again. Default: false.
    #[schemars(extend("x-since" = "own"))]
    pub prompt_cache_notices: Option<bool>,
    /// Names of files and folders that mark the root of a project. Default: `[".git"]`.
    pub project_root_markers: Option<Vec<String>>,
    /// The trailer that the model adds to messages of commits; an empty text adds none.
    #[schemars(extend("x-until" = "0.117"))]
    pub commit_attribution: Option<String>,
    /// Whether the model is told about the sandbox and approvals. Default: true.
    #[schemars(extend("x-since" = "0.140"))]
    pub include_permissions_instructions: Option<bool>,
    /// Whether the model is told about its mode. Default: true.
    #[schemars(extend("x-since" = "0.140"))]
    pub include_collaboration_mode_instructions: Option<bool>,
    /// Whether the model is told about apps. Default: true.
    #[schemars(extend("x-since" = "0.140"))]
    pub include_apps_instructions: Option<bool>,
    /// Whether the model is told about the folder, the shell, the date and the network. Default: true.
    #[schemars(extend("x-since" = "0.140"))]
    pub include_environment_context: Option<bool>,
    /// Whether that has the date and the time zone. Default: true.
    #[schemars(extend("x-since" = "0.169"))]
    pub include_environment_context_time: Option<bool>,

    // Approvals and the sandbox.
    /// When a person is asked before something runs. Default: `on-request`; `untrusted` in projects that are not
    /// trusted.
    pub approval_policy: Option<AskForApproval>,
    /// Who answers: the person, or a model in their place. Default: `user`.
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// Settings of the model that answers approvals.
    #[schemars(extend("x-since" = "0.140"))]
    pub auto_review: Option<AutoReviewFile>,
    /// What commands may write. Default: `workspace-write` in projects that a decision was made about, otherwise
    /// `read-only`.
    pub sandbox_mode: Option<SandboxMode>,
    /// Settings of the mode `workspace-write`.
    pub sandbox_workspace_write: Option<WorkspaceWriteFile>,
    /// The name of the permissions that apply: a name in `permissions`, `:read-only`, `:workspace` or
    /// `:danger-full-access`.
    pub default_permissions: Option<String>,
    /// Permissions of commands, by name.
    pub permissions: Option<BTreeMap<String, PermissionsFile>>,
    /// The environment variables of commands.
    pub shell_environment_policy: ShellEnvironmentFile,
    /// Whether tools may run login shells. Default: true.
    pub allow_login_shell: Option<bool>,
    /// A patched zsh of the reference.
    #[schemars(extend("x-until" = "0.117"))]
    pub zsh_path: Option<PathBuf>,
    /// The longest wait for the output of a terminal, in milliseconds; 5000 at least. Default: 300000.
    pub background_terminal_max_timeout: Option<u64>,
    /// Settings for Windows.
    pub windows: Option<WindowsFile>,

    // Tools, agents, extensions.
    /// Other machines that threads can work on, by name.
    #[schemars(extend("x-since" = "own"))]
    pub environments: BTreeMap<String, EnvironmentFile>,
    /// MCP servers by name.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// Where logins of MCP servers are stored. Default: `auto`.
    pub mcp_oauth_credentials_store: Option<McpCredentialsStore>,
    /// The port that browsers come back to after a login. Default: any free one.
    pub mcp_oauth_callback_port: Option<NonZeroU16>,
    /// The address that browsers come back to after a login.
    pub mcp_oauth_callback_url: Option<String>,
    /// Limits of agents, and roles: every key but the limits is the name of a role.
    pub agents: Option<AgentsFile>,
    /// Which skills are used.
    pub skills: Option<SkillsFile>,
    /// Which plugins are used, by `name@marketplace`.
    pub plugins: BTreeMap<String, PluginFile>,
    /// Marketplaces of plugins that were added, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-since" = "0.140"))]
    pub marketplaces: BTreeMap<String, MarketplaceFile>,
    /// Which apps are used: `_default`, and the ids of apps.
    pub apps: Option<AppsFile>,
    /// What the model may suggest to install.
    pub tool_suggest: Option<ToolSuggestFile>,
    /// Notes for later threads.
    pub memories: Option<MemoriesFile>,
    /// Snapshots of an earlier undo.
    pub ghost_snapshot: Option<GhostSnapshotFile>,
    /// What files were before turns changed them.
    #[schemars(extend("x-since" = "own"))]
    pub checkpoints: CheckpointsFile,
    /// What neither models nor their commands read.
    #[schemars(extend("x-since" = "own"))]
    pub secrets: Option<SecretsFile>,
    /// Limits on what a turn, a thread, and a thread with its agents may use.
    #[serde(skip_serializing_if = "ThreadLimits::is_empty")]
    #[schemars(extend("x-since" = "own"))]
    pub limits: ThreadLimits,
    /// How long traces are kept.
    #[schemars(extend("x-since" = "own"))]
    pub traces: TracesFile,
    /// How many seconds an idle thread stays loaded after its last client has left it. Default: 60.
    #[schemars(extend("x-since" = "0.169"))]
    pub thread_unload_delay_secs: Option<u64>,
    /// The release that clients are served as which do not say theirs. Default: what a client shows of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-since" = "own"))]
    #[schemars(with = "Option<String>")]
    pub client_release: Option<ClientRelease>,
    /// The Node of the JavaScript session.
    pub js_repl_node_path: Option<PathBuf>,
    /// Folders with modules for the JavaScript session.
    pub js_repl_node_module_dirs: Option<Vec<PathBuf>>,
    /// A program, with arguments, that is started after each turn, with a description of it as JSON as its last
    /// argument.
    pub notify: Option<Vec<String>>,
    /// Programs that run at events of a session, by event; `state` has the decisions about them. See hooks.md.
    #[serde(skip_serializing)]
    #[schemars(with = "Option<OpaqueTable>")]
    #[schemars(extend("x-since" = "0.140"))]
    pub hooks: Option<toml::Table>,
    /// The devices of voice conversations.
    pub audio: Option<AudioFile>,
    /// Voice conversations.
    pub realtime: Option<RealtimeFile>,
    /// The address of the service for voice conversations. Default: that of the provider.
    pub experimental_realtime_ws_base_url: Option<String>,
    /// The model of voice conversations.
    pub experimental_realtime_ws_model: Option<String>,
    /// The instructions of voice conversations, in place of those of the client.
    pub experimental_realtime_ws_backend_prompt: Option<String>,
    /// What a voice conversation is told at its start, in place of a summary of the threads.
    pub experimental_realtime_ws_startup_context: Option<String>,
    /// What the model is told when a voice conversation starts.
    pub experimental_realtime_start_instructions: Option<String>,

    // Account, storage, telemetry.
    /// Where the login is stored. Default: `file`.
    pub cli_auth_credentials_store: Option<CredentialsStore>,
    /// The only kind of login that is accepted.
    pub forced_login_method: Option<ForcedLoginMethod>,
    /// The only workspaces that logins may belong to: an id, or a list of ids.
    pub forced_chatgpt_workspace_id: Option<WorkspaceIds>,
    /// The history of what was typed.
    pub history: Option<HistoryFile>,
    /// The folder of the databases. Default: the home folder, or what `CODEX_SQLITE_HOME` says.
    pub sqlite_home: Option<PathBuf>,
    /// The folder of the log files. Default: logs go to standard error alone.
    pub log_dir: Option<PathBuf>,
    /// True hides the thinking of the model from clients.
    pub hide_agent_reasoning: Option<bool>,
    /// Whether clients see the thinking itself, where a model shows it. Default: false.
    pub show_raw_agent_reasoning: Option<bool>,
    /// Reports about the use of the program: none are sent.
    pub analytics: Option<SwitchFile>,
    /// Reports that a person writes.
    pub feedback: Option<FeedbackFile>,
    /// Telemetry.
    pub otel: Option<OtelFile>,
    /// The entry of `profiles` that applies.
    pub profile: Option<String>,
    /// Named sets of settings. A profile may also be a file of its own, `NAME.config.toml`.
    pub profiles: BTreeMap<String, ProfileFile>,
    /// Decisions about projects, by their folders.
    pub projects: Option<BTreeMap<String, ProjectFile>>,
    /// Features by name: true, false, or a table with `enabled` and settings of the feature.
    #[serde(deserialize_with = "features::switches")]
    #[schemars(with = "Option<features::FeatureSwitches>")]
    pub features: Option<BTreeMap<String, bool>>,
    /// True leaves out the warning about features that are not finished. Default: false.
    pub suppress_unstable_features_warning: Option<bool>,
    /// An older form of `features.unified_exec`.
    pub experimental_use_unified_exec_tool: Option<bool>,
    /// An older form of `features.apply_patch_freeform`.
    #[schemars(extend("x-until" = "0.117"))]
    pub experimental_use_freeform_apply_patch: Option<bool>,

    // Used by terminal clients only.
    /// Settings of terminal clients. Nothing here uses them.
    pub tui: Option<TuiFile>,
    /// Notices that a person has closed. Terminal clients use them.
    pub notice: Option<NoticeFile>,
    /// The program that terminal clients open files with.
    pub file_opener: Option<FileOpener>,
    /// Whether terminal clients look for updates.
    pub check_for_update_on_startup: Option<bool>,
    /// Whether terminal clients take fast typing for typing.
    pub disable_paste_burst: Option<bool>,
    /// Whether a notice about Windows was closed.
    #[schemars(extend("x-until" = "0.117"))]
    pub windows_wsl_setup_acknowledged: Option<bool>,

    // Used by other programs only, which know what is in these tables.
    /// Settings of the desktop program.
    #[schemars(extend("x-since" = "0.140"))]
    pub desktop: Option<OpaqueTable>,
    /// Settings of another program.
    #[schemars(extend("x-since" = "0.169"))]
    pub browser_use: Option<OpaqueTable>,
    /// Settings of another program.
    #[schemars(extend("x-since" = "0.169"))]
    pub computer_use: Option<OpaqueTable>,

    // Of other releases; accepted without an effect.
    /// Of other releases.
    #[schemars(extend("x-since" = "0.169"))]
    pub allow_symlinked_codex_home: Option<bool>,
    /// Of other releases.
    #[schemars(extend("x-since" = "0.140"))]
    pub apps_mcp_product_sku: Option<String>,
    /// Of other releases.
    #[schemars(extend("x-since" = "0.169"))]
    pub cloud: Option<OpaqueTable>,
    /// Of other releases.
    #[schemars(extend("x-since" = "0.171"))]
    pub code_mode: Option<OpaqueTable>,
    /// Of other releases.
    #[schemars(extend("x-since" = "0.169"))]
    pub daybreak: Option<bool>,
    /// Of other releases.
    #[schemars(extend("x-since" = "0.140"))]
    pub experimental_realtime_webrtc_call_base_url: Option<String>,
    /// Of other releases.
    #[schemars(extend("x-since" = "0.140"))]
    pub experimental_thread_store_endpoint: Option<String>,
    /// Of other releases.
    #[schemars(extend("x-since" = "0.169"))]
    pub goals: Option<OpaqueTable>,
    /// Of other releases.
    #[schemars(extend("x-since" = "0.169"))]
    pub mcp_enterprise_managed_auth: Option<OpaqueTable>,
    /// Of other releases.
    #[schemars(extend("x-since" = "0.169"))]
    pub mcp_optional_startup_grace_ms: Option<u64>,
    /// Of other releases.
    #[schemars(extend("x-since" = "0.169"))]
    pub orchestrator: Option<OpaqueTable>,
    /// Of other releases.
    #[schemars(extend("x-since" = "0.171"))]
    pub responses: Option<OpaqueTable>,
    /// Of other releases.
    #[schemars(extend("x-since" = "0.169"))]
    pub responses_api_metadata: Option<OpaqueTable>,
    /// How much of a session is recorded in its trace.
    #[schemars(extend("x-since" = "0.171"))]
    pub rollout_trace: RolloutTraceFile,
    /// Where threads are stored: in files, there is nothing else.
    #[schemars(extend("x-since" = "0.140"))]
    pub experimental_thread_store: Option<ThreadStoreFile>,
}

/// `[projects."<path>"]`: the user's decision about a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectFile {
    /// Whether its settings take effect; undecided if absent.
    pub trust_level: Option<TrustLevel>,
}
