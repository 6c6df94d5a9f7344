//! The typed form of `config.toml`, of one layer or of all layers merged.
//!
//! All keys are optional; defaults are applied later. Unknown keys are ignored; a value of the wrong type is an
//! error. Serialized, every known key appears, unset ones as null.

mod agents;
mod apps;
mod auto_review;
mod client_release;
mod features;
mod mcp;
mod opaque_table;
mod permissions;
mod profile;
mod provider;
mod sandbox;
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
use serde::{Deserialize, Serialize};

pub use agents::{AgentRoleFile, AgentsFile};
pub use apps::{AppDefaults, AppFile, AppToolFile, AppsFile, ToolApprovalMode};
pub use auto_review::AutoReviewFile;
pub use client_release::ClientRelease;
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
pub use services::{AudioFile, CredentialsStore, McpCredentialsStore, RealtimeFile, RealtimeKind};
pub use storage::{
    CheckpointsFile, GhostSnapshotFile, HistoryFile, HistoryPersistence, MemoriesFile, TracesFile,
};
pub use telemetry::{Exporter, FeedbackFile, OtelFile, OtlpProtocol, SwitchFile, TlsFile};
pub use thread_store::{CompactScope, ThreadStoreFile};
pub use tools::{
    BundledSkills, Discoverable, DiscoverableKind, MarketplaceFile, PluginFile, SkillRule,
    SkillsFile, ToolSuggestFile, ToolsFile,
};
pub use ui::{FileOpener, NoticeFile, TuiFile};
pub use workspace_ids::WorkspaceIds;

pub(crate) use features::switch;

use crate::trust::TrustLevel;

/// The settings of one file, or of all layers merged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct ConfigFile {
    // Model and provider.
    pub model: Option<String>,
    pub review_model: Option<String>,
    pub model_provider: Option<String>,
    pub model_providers: BTreeMap<String, ProviderFile>,
    pub openai_base_url: Option<String>,
    pub chatgpt_base_url: Option<String>,
    pub oss_provider: Option<String>,
    pub model_reasoning_effort: Option<ReasoningEffort>,
    pub plan_mode_reasoning_effort: Option<ReasoningEffort>,
    pub model_reasoning_summary: Option<ReasoningSummary>,
    pub model_supports_reasoning_summaries: Option<bool>,
    pub model_verbosity: Option<Verbosity>,
    pub model_context_window: Option<i64>,
    pub model_auto_compact_token_limit: Option<i64>,
    pub model_auto_compact_token_limit_scope: Option<CompactScope>,
    pub model_post_turn_compact_threshold_percent: Option<u8>,
    pub tool_output_token_limit: Option<u64>,
    pub model_catalog_json: Option<PathBuf>,
    pub service_tier: Option<ServiceTier>,
    pub personality: Option<Personality>,
    pub web_search: Option<WebSearchMode>,
    pub tools: Option<ToolsFile>,

    // Instructions and context.
    pub instructions: Option<String>,
    pub developer_instructions: Option<String>,
    pub model_instructions_file: Option<PathBuf>,
    pub experimental_instructions_file: Option<PathBuf>,
    pub compact_prompt: Option<String>,
    pub experimental_compact_prompt_file: Option<PathBuf>,
    pub project_doc_max_bytes: Option<u64>,
    pub project_doc_fallback_filenames: Option<Vec<String>>,
    pub project_root_markers: Option<Vec<String>>,
    pub commit_attribution: Option<String>,
    pub include_permissions_instructions: Option<bool>,
    pub include_collaboration_mode_instructions: Option<bool>,
    pub include_apps_instructions: Option<bool>,
    pub include_environment_context: Option<bool>,
    pub include_environment_context_time: Option<bool>,

    // Approvals and the sandbox.
    pub approval_policy: Option<AskForApproval>,
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    pub auto_review: Option<AutoReviewFile>,
    pub sandbox_mode: Option<SandboxMode>,
    pub sandbox_workspace_write: Option<WorkspaceWriteFile>,
    pub default_permissions: Option<String>,
    pub permissions: Option<BTreeMap<String, PermissionsFile>>,
    pub shell_environment_policy: ShellEnvironmentFile,
    pub allow_login_shell: Option<bool>,
    pub zsh_path: Option<PathBuf>,
    pub background_terminal_max_timeout: Option<u64>,
    pub windows: Option<WindowsFile>,

    // Tools, agents, extensions.
    pub mcp_servers: BTreeMap<String, McpServer>,
    pub mcp_oauth_credentials_store: Option<McpCredentialsStore>,
    pub mcp_oauth_callback_port: Option<NonZeroU16>,
    pub mcp_oauth_callback_url: Option<String>,
    pub agents: Option<AgentsFile>,
    pub skills: Option<SkillsFile>,
    pub plugins: BTreeMap<String, PluginFile>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub marketplaces: BTreeMap<String, MarketplaceFile>,
    pub apps: Option<AppsFile>,
    pub tool_suggest: Option<ToolSuggestFile>,
    pub memories: Option<MemoriesFile>,
    pub ghost_snapshot: Option<GhostSnapshotFile>,
    pub checkpoints: CheckpointsFile,
    #[serde(skip_serializing_if = "ThreadLimits::is_empty")]
    pub limits: ThreadLimits,
    pub traces: TracesFile,
    pub thread_unload_delay_secs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_release: Option<ClientRelease>,
    pub js_repl_node_path: Option<PathBuf>,
    pub js_repl_node_module_dirs: Option<Vec<PathBuf>>,
    pub notify: Option<Vec<String>>,
    /// Hooks and the user's decisions about them; read for each layer by itself.
    #[serde(skip_serializing)]
    pub hooks: Option<toml::Table>,
    pub audio: Option<AudioFile>,
    pub realtime: Option<RealtimeFile>,
    pub experimental_realtime_ws_base_url: Option<String>,
    pub experimental_realtime_ws_model: Option<String>,
    pub experimental_realtime_ws_backend_prompt: Option<String>,
    pub experimental_realtime_ws_startup_context: Option<String>,
    pub experimental_realtime_start_instructions: Option<String>,

    // Account, storage, telemetry.
    pub cli_auth_credentials_store: Option<CredentialsStore>,
    pub forced_login_method: Option<ForcedLoginMethod>,
    pub forced_chatgpt_workspace_id: Option<WorkspaceIds>,
    pub history: Option<HistoryFile>,
    pub sqlite_home: Option<PathBuf>,
    pub log_dir: Option<PathBuf>,
    pub hide_agent_reasoning: Option<bool>,
    pub show_raw_agent_reasoning: Option<bool>,
    pub analytics: Option<SwitchFile>,
    pub feedback: Option<FeedbackFile>,
    pub otel: Option<OtelFile>,
    pub profile: Option<String>,
    pub profiles: BTreeMap<String, ProfileFile>,
    pub projects: Option<BTreeMap<String, ProjectFile>>,
    #[serde(deserialize_with = "features::switches")]
    pub features: Option<BTreeMap<String, bool>>,
    pub suppress_unstable_features_warning: Option<bool>,
    pub experimental_use_unified_exec_tool: Option<bool>,
    pub experimental_use_freeform_apply_patch: Option<bool>,

    // Used by terminal clients only.
    pub tui: Option<TuiFile>,
    pub notice: Option<NoticeFile>,
    pub file_opener: Option<FileOpener>,
    pub check_for_update_on_startup: Option<bool>,
    pub disable_paste_burst: Option<bool>,
    pub windows_wsl_setup_acknowledged: Option<bool>,

    // Used by other programs only, which know what is in these tables.
    pub desktop: Option<OpaqueTable>,
    pub browser_use: Option<OpaqueTable>,
    pub computer_use: Option<OpaqueTable>,

    // Of newer releases; accepted without an effect.
    pub apps_mcp_product_sku: Option<String>,
    pub cloud: Option<OpaqueTable>,
    pub code_mode: Option<OpaqueTable>,
    pub experimental_realtime_webrtc_call_base_url: Option<String>,
    pub goals: Option<OpaqueTable>,
    pub orchestrator: Option<OpaqueTable>,
    pub responses: Option<OpaqueTable>,
    pub rollout_trace: Option<OpaqueTable>,
    /// There is only the one that is named.
    pub experimental_thread_store: Option<ThreadStoreFile>,
}

/// `[projects."<path>"]`: the user's decision about a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectFile {
    /// Whether its settings take effect; undecided if absent.
    pub trust_level: Option<TrustLevel>,
}
