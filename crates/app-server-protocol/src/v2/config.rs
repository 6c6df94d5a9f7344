//! Reading and editing the configuration over the wire: the merged settings with their layers and
//! origins, edits of the user's file, and the limits an administrator set. Names inside the
//! settings are snake_case, as in the files; the messages around them are camelCase.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, Tagged, sparse};
use codex_protocol::{
    AbsolutePathBuf, ForcedLoginMethod, ReasoningEffort, ReasoningSummary, ServiceTier, Verbosity,
    WebSearchMode, WebSearchToolConfig, mark_members,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::v2::{ApprovalsReviewer, AppsConfig, AskForApproval, SandboxMode};

/// Asks for the merged configuration; explicit parameters of threads are not part of it.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ConfigReadParams {
    /// Also return the layers themselves, not only the result of merging them.
    #[serde(default)]
    pub include_layers: bool,
    /// Folder whose project layers count too; null leaves project layers out.
    pub cwd: Option<String>,
}

/// What happens to a value that is already at the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MergeStrategy {
    /// The new value takes its place, with everything below it.
    Replace,
    /// Two tables are merged deeply; anything else, arrays too, is replaced.
    Upsert,
}

/// Changes one key in the user's `config.toml`.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ConfigValueWriteParams {
    /// Names from the top-level table down, joined by dots; missing tables on the way are made.
    pub key_path: String,
    /// The new value; null removes the key, and may not occur inside another value.
    pub value: Value,
    /// What happens to a value that is already there.
    pub merge_strategy: MergeStrategy,
    /// The file to change; only the user's `config.toml` is allowed, which null stands for.
    pub file_path: Option<String>,
    /// Version of the user layer the edit was based on; another one is a conflict. Null skips the
    /// check.
    pub expected_version: Option<String>,
}

/// One change among several that are made together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigEdit {
    /// Names from the top-level table down, joined by dots; missing tables on the way are made.
    pub key_path: String,
    /// The new value; null removes the key, and may not occur inside another value.
    pub value: Value,
    /// What happens to a value that is already there.
    pub merge_strategy: MergeStrategy,
}

/// Changes several keys in the user's `config.toml`: all of them or none.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ConfigBatchWriteParams {
    /// The changes, in the order they are applied.
    pub edits: Vec<ConfigEdit>,
    /// The file to change; only the user's `config.toml` is allowed, which null stands for.
    pub file_path: Option<String>,
    /// Version of the user layer the edits were based on; another one is a conflict. Null skips the
    /// check.
    pub expected_version: Option<String>,
    /// Let loaded threads read the user layer again; their model and policies stay as they are.
    #[serde(default)]
    pub reload_user_config: bool,
}

/// Table `[analytics]`: usage metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnalyticsConfig {
    /// Whether metrics are sent; null takes the default the server was started with.
    pub enabled: Option<bool>,
    /// Keys this type does not know.
    #[serde(flatten)]
    pub additional: BTreeMap<String, Value>,
}

/// Settings after merging all layers, before a profile is applied; null means set nowhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[schemars(transform = mark_members::<Self>)]
pub struct Config {
    /// What only parts of the context count for automatic compaction; has no effect here.
    #[serde(default)]
    #[since("0.140")]
    pub model_auto_compact_token_limit_scope: Option<Value>,
    /// Settings of the desktop application; they have no effect here.
    #[serde(default)]
    #[since("0.140")]
    pub desktop: Option<Value>,
    /// Settings of a browser that the model uses; they have no effect here.
    #[serde(default)]
    #[since("0.169")]
    pub browser_use: Option<Value>,
    /// Settings of a computer that the model uses; they have no effect here.
    #[serde(default)]
    #[since("0.169")]
    pub computer_use: Option<Value>,
    /// Search of the client; has no effect here.
    #[serde(default)]
    #[since("0.169")]
    pub client_search_provider: Option<Value>,
    /// Slug of the model for new threads; null takes the default of the model list.
    pub model: Option<String>,
    /// Slug of the model that reviews; null takes the thread's own.
    pub review_model: Option<String>,
    /// Size of the context window in tokens, in place of what is known of the model.
    pub model_context_window: Option<i64>,
    /// Tokens in the context at which history is compacted by itself; null takes the model's.
    pub model_auto_compact_token_limit: Option<i64>,
    /// Id of the provider that serves the model; null means `openai`.
    pub model_provider: Option<String>,
    /// When a person is asked before commands run; null depends on the trust in the project.
    #[experimental(nested)]
    pub approval_policy: Option<AskForApproval>,
    /// Who answers those questions; null means the user.
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// What commands may touch; null depends on the trust in the project.
    pub sandbox_mode: Option<SandboxMode>,
    /// Details of the workspace-write mode; unused in other modes.
    pub sandbox_workspace_write: Option<SandboxWorkspaceWrite>,
    /// The only workspace accounts that logins may belong to; null allows any.
    pub forced_chatgpt_workspace_id: Option<ForcedChatgptWorkspaceIds>,
    /// The only kind of login allowed; null allows any.
    pub forced_login_method: Option<ForcedLoginMethod>,
    /// Whether and how the model may search the web; null means cached results.
    pub web_search: Option<WebSearchMode>,
    /// Details of single built-in tools.
    pub tools: Option<ToolsV2>,
    /// Name of the profile in use; null means none.
    #[until("0.117")]
    pub profile: Option<String>,
    /// Named sets of settings of which the chosen one beats the top level of the files.
    #[serde(default)]
    #[until("0.117")]
    pub profiles: BTreeMap<String, ProfileV2>,
    /// Read for older files and not used.
    pub instructions: Option<String>,
    /// Text put before the conversation in addition to the built-in instructions.
    pub developer_instructions: Option<String>,
    /// Text that asks the model to summarise history, in place of the built-in one.
    pub compact_prompt: Option<String>,
    /// How hard the model thinks; null takes the model's default.
    pub model_reasoning_effort: Option<ReasoningEffort>,
    /// How reasoning is summarised for the user; null takes the model's default.
    pub model_reasoning_summary: Option<ReasoningSummary>,
    /// How long answers are; null takes the model's default.
    pub model_verbosity: Option<Verbosity>,
    /// Speed class asked of the service; null takes the service's normal one.
    pub service_tier: Option<ServiceTier>,
    /// Usage metrics.
    pub analytics: Option<AnalyticsConfig>,
    /// Which apps and which of their tools may be used.
    #[experimental("config/read.apps")]
    pub apps: Option<AppsConfig>,
    /// All other keys, known to the server or kept for other clients.
    #[serde(flatten)]
    pub additional: BTreeMap<String, Value>,
}

/// One source of settings with what it contributes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigLayer {
    /// Where the layer comes from.
    pub name: ConfigLayerSource,
    /// Hash of the content, `sha256:` and hex digits; comments and layout do not change it.
    pub version: String,
    /// The layer's own table as written, keys unknown to the server included.
    pub config: Value,
    /// Why the layer is ignored, such as a project that is not trusted; null when it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_reason: Option<String>,
}

/// Names a layer and the content it had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigLayerMetadata {
    /// Where the layer comes from.
    pub name: ConfigLayerSource,
    /// Hash of the content, as in `ConfigLayer`.
    pub version: String,
}

/// Where a layer comes from; in this order, later ones win.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ConfigLayerSource {
    /// Preferences managed by the organisation's device management.
    Mdm {
        /// Preference domain of the application.
        domain: String,
        /// Name of the preference that holds the settings.
        key: String,
    },
    /// Settings for everybody on the machine.
    System {
        /// Path of the file, which need not exist.
        file: AbsolutePathBuf,
    },
    /// Settings in the home folder; the only layer that is ever written.
    User {
        /// Path of the file, which need not exist.
        file: AbsolutePathBuf,
    },
    /// Settings of a `.codex` folder between the project root and the working folder.
    Project {
        /// Path of that folder; the nearest to the working folder wins.
        dot_codex_folder: AbsolutePathBuf,
    },
    /// Overrides from the server's command line.
    SessionFlags,
    /// Older form of managed settings, in a file of the administrator.
    LegacyManagedConfigTomlFromFile {
        /// Path of that file.
        file: AbsolutePathBuf,
    },
    /// Older form of managed settings, from device management; beats every other layer.
    LegacyManagedConfigTomlFromMdm,
}

/// Named set of settings; null leaves a key to the rest of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct ProfileV2 {
    /// Slug of the model for new threads.
    pub model: Option<String>,
    /// Id of the provider that serves the model.
    pub model_provider: Option<String>,
    /// When a person is asked before commands run.
    #[experimental(nested)]
    pub approval_policy: Option<AskForApproval>,
    /// Who answers those questions.
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// Speed class asked of the service.
    pub service_tier: Option<ServiceTier>,
    /// How hard the model thinks.
    pub model_reasoning_effort: Option<ReasoningEffort>,
    /// How reasoning is summarised for the user.
    pub model_reasoning_summary: Option<ReasoningSummary>,
    /// How long answers are.
    pub model_verbosity: Option<Verbosity>,
    /// Whether and how the model may search the web.
    pub web_search: Option<WebSearchMode>,
    /// Details of single built-in tools.
    pub tools: Option<ToolsV2>,
    /// Address of the backend for services that need a ChatGPT login.
    pub chatgpt_base_url: Option<String>,
    /// Other keys of the profile.
    #[serde(flatten)]
    pub additional: BTreeMap<String, Value>,
}

/// Table `[sandbox_workspace_write]`: what that mode allows beyond the working folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxWorkspaceWrite {
    /// Further folders that may be written to, with everything below them.
    #[serde(default)]
    pub writable_roots: Vec<String>,
    /// Whether commands may use the network.
    #[serde(default)]
    pub network_access: bool,
    /// Keep the folder that `TMPDIR` names read-only.
    #[serde(default)]
    pub exclude_tmpdir_env_var: bool,
    /// Keep `/tmp` read-only.
    #[serde(default)]
    pub exclude_slash_tmp: bool,
}

/// Table `[tools]`: details of built-in tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[schemars(transform = mark_members::<Self>)]
pub struct ToolsV2 {
    /// How web searches are narrowed; the bare switch of older files shows as null.
    pub web_search: Option<WebSearchToolConfig>,
    /// Read for older files, without effect.
    #[until("0.117")]
    pub view_image: Option<bool>,
}

/// The merged configuration and where it came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigReadResponse {
    /// Settings after merging, without those of disabled layers.
    pub config: Config,
    /// Layer that supplied each value, by dotted path; array elements count by their index.
    pub origins: BTreeMap<String, ConfigLayerMetadata>,
    /// All layers, winning ones first, disabled ones included; null unless asked for.
    pub layers: Option<Vec<ConfigLayer>>,
}

/// Why a value that was written does not take effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverriddenMetadata {
    /// Explanation for the user.
    pub message: String,
    /// The layer whose value wins.
    pub overriding_layer: ConfigLayerMetadata,
    /// The value in force; null when there is none.
    pub effective_value: Value,
}

/// Whether what was written is also what counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WriteStatus {
    /// Every written value is in force.
    Ok,
    /// Written, but a stronger layer has another value for at least one key.
    OkOverridden,
}

/// The user's file after the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigWriteResponse {
    /// Whether what was written is also what counts.
    pub status: WriteStatus,
    /// New version of the user layer, to be expected by the next write.
    pub version: String,
    /// The file that was changed.
    pub file_path: AbsolutePathBuf,
    /// The first written value that does not count; null with `ok`.
    pub overridden_metadata: Option<OverriddenMetadata>,
}

/// Limits of the administrator, which settings and requests must keep; null means no limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ConfigRequirements {
    /// Policies that may be used; the first one replaces a configured one that may not.
    #[experimental(nested)]
    pub allowed_approval_policies: Option<Vec<AskForApproval>>,
    /// Modes that may be used; read-only is always among them.
    pub allowed_sandbox_modes: Option<Vec<SandboxMode>>,
    /// Ways of web search that may be used; `disabled` is always among them.
    pub allowed_web_search_modes: Option<Vec<WebSearchMode>>,
    /// Features pinned on or off, by key, whatever the configuration says.
    pub feature_requirements: Option<BTreeMap<String, bool>>,
    /// Region in which requests to the service must be handled.
    pub enforce_residency: Option<ResidencyRequirement>,
    /// Rules of the managed network proxy; null means no proxy is imposed.
    #[experimental("configRequirements/read.network")]
    pub network: Option<NetworkRequirements>,
}

/// What the proxy through which commands reach the network must do; null leaves it open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct NetworkRequirements {
    /// Whether the proxy runs.
    pub enabled: Option<bool>,
    /// Local port for HTTP requests.
    pub http_port: Option<u16>,
    /// Local port for SOCKS connections.
    pub socks_port: Option<u16>,
    /// Whether it may pass traffic on to a proxy found in the environment.
    pub allow_upstream_proxy: Option<bool>,
    /// Whether it may listen on addresses that other machines can reach.
    pub dangerously_allow_non_loopback_proxy: Option<bool>,
    /// Whether commands may connect to any Unix socket through it.
    pub dangerously_allow_all_unix_sockets: Option<bool>,
    /// Hosts that may be reached; the user's own entries count too where a sandbox is on.
    pub allowed_domains: Option<Vec<String>>,
    /// Hosts that may not be reached, even if they are also allowed.
    pub denied_domains: Option<Vec<String>>,
    /// Paths of Unix sockets that commands may connect to through it.
    pub allow_unix_sockets: Option<Vec<String>>,
    /// Whether addresses on this machine and in private networks may be reached.
    pub allow_local_binding: Option<bool>,
    /// What is done about hosts, by pattern.
    #[serde(default)]
    #[since("0.140")]
    pub domains: Option<BTreeMap<String, NetworkDomainPermission>>,
    /// Hosts that a person decides about.
    #[serde(default)]
    #[since("0.169")]
    pub review_domains: Option<Vec<String>>,
    /// Whether the user's own entries do not count.
    #[serde(default)]
    #[since("0.140")]
    pub managed_allowed_domains_only: Option<bool>,
    /// What is done about Unix sockets, by path.
    #[serde(default)]
    #[since("0.140")]
    pub unix_sockets: Option<BTreeMap<String, NetworkUnixSocketPermission>>,
}

/// The workspaces that logins may belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(untagged)]
#[schemars(transform = mark_members::<Self>)]
pub enum ForcedChatgptWorkspaceIds {
    /// One workspace.
    One(String),
    /// Any of these.
    #[since("0.140")]
    AnyOf(Vec<String>),
}

/// What is done about a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NetworkDomainPermission {
    /// It may be reached.
    Allow,
    /// It may not be reached.
    Deny,
}

/// What is done about a Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NetworkUnixSocketPermission {
    /// Commands may connect to it.
    Allow,
    /// Commands may not connect to it.
    Deny,
}

/// Region in which requests must be handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ResidencyRequirement {
    /// The United States.
    Us,
}

/// Limits merged from all of the administrator's sources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ConfigRequirementsReadResponse {
    /// Null when no source sets any.
    pub requirements: Option<ConfigRequirements>,
    /// Whether modes may have speeds of their own.
    #[serde(default)]
    #[since("0.169")]
    pub supports_independent_speed_modes: bool,
}
