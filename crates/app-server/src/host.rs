//! What the server needs from the program that contains it: configuration and an engine.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_apps::{AccountKey, AppCatalog, DirectoryAccount};
use codex_checkpoints::CheckpointStore;
use codex_config::{
    ConfigError, ConfigWarning, DeprecationNotice, MemorySettings, RequestParams,
    RequirementViolation,
};
use codex_core::{McpServer, SessionConfig, StandaloneCommands, ThreadManager};
use codex_environments::Environments;
use codex_external_agent::HomeFolders;
use codex_hooks::HookCatalog;
use codex_http::{HttpPool, PostError};
use codex_login::Accounts;
use codex_mcp_client::{McpConnector, McpServerConfig};
use codex_memories::MemoryStore;
use codex_model_client::ModelStore;
use codex_plugins::InstalledPlugin;
use codex_protocol::{Release, SandboxPolicy, ThreadLimits};
use codex_skills::{SkillLibrary, SkillToggle};
use codex_thread_store::ThreadStore;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::configuration::Configuration;

/// The client of the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientName {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// How the server identifies itself to a client.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The user agent of requests to models.
    pub user_agent: String,
    /// The home folder of the engine.
    pub home: PathBuf,
}

/// The settings of a request, which take precedence over the configuration.
#[derive(Clone, Debug)]
pub struct RequestedSettings {
    /// The working folder; by default that of the server.
    pub cwd: Option<String>,
    /// Explicit params of the request.
    pub params: RequestParams,
    /// Configuration overrides by key.
    pub overrides: Map<String, Value>,
    /// Limits of the request, which replace configured ones.
    pub limits: ThreadLimits,
    /// Limits that the thread had, for what nothing else limits.
    pub stored_limits: ThreadLimits,
    /// The ids of the plugins that the thread had switched off.
    pub disabled_plugins: Vec<String>,
    /// Whether the client shows forms of MCP servers that are more than flat fields.
    pub takes_openai_forms: bool,
    pub client: ClientName,
}

/// Everything to start a thread with.
#[derive(Debug)]
pub struct PreparedThread {
    /// The engine for the thread.
    pub manager: Arc<ThreadManager>,
    /// The settings of its session.
    pub config: SessionConfig,
    /// How memories of earlier threads are made in its background; none if they are not.
    pub memories: Option<MemorySettings>,
    /// Whether its models are those of the account that is logged in.
    pub uses_account: bool,
    /// Whether its models are asked at the hosted service itself, not through another server.
    pub has_hosted_models: bool,
    /// The overrides of its request.
    pub overrides: Map<String, Value>,
    /// Warnings about the settings that the start of the server did not have.
    pub warnings: Vec<ConfigWarning>,
    /// Notices about deprecated settings.
    pub deprecations: Vec<DeprecationNotice>,
}

/// The MCP servers of the configuration.
#[derive(Debug)]
pub struct McpSettings {
    /// Starts connections.
    pub connector: McpConnector,
    /// Enabled servers.
    pub enabled: Vec<McpServer>,
    /// Disabled servers.
    pub disabled: Vec<McpServerConfig>,
}

/// How to get the apps of an account.
#[derive(Debug)]
pub struct AppsAccess {
    /// The account.
    pub key: AccountKey,
    /// Whose directory is requested.
    pub directory: DirectoryAccount,
    /// The HTTP connections.
    pub http: Arc<HttpPool>,
    /// What was last known.
    pub catalog: Arc<AppCatalog>,
    /// The server whose tools are those of apps.
    pub server: McpServer,
    /// Starts connections to it.
    pub connector: McpConnector,
    /// The plugins, which name apps.
    pub plugins: Vec<InstalledPlugin>,
}

/// Where feedback reports go.
#[derive(Clone, Debug)]
pub struct FeedbackSettings {
    /// Whether reports are allowed.
    pub enabled: bool,
    /// The folder for stored reports.
    pub folder: PathBuf,
    /// The URL that reports are sent to, if there is one.
    pub endpoint: Option<String>,
}

/// Why the host could not do something.
#[derive(Debug, Error)]
pub enum HostError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A limit of the administrator forbids it.
    #[error(transparent)]
    Forbidden(#[from] RequirementViolation),
    /// A report was not delivered.
    #[error(transparent)]
    Delivery(#[from] PostError),
    /// Any other reason, as a sentence for clients.
    #[error("{0}")]
    Other(String),
}

/// The program that contains the server.
pub trait Host:
    Debug
    + Send
    + Sync
    + 'static
    + StartupSettings
    + ThreadEngines
    + Stores
    + Extensions
    + UserPlaces
    + FeedbackSupport
{
}

impl<T> Host for T where
    T: Debug
        + Send
        + Sync
        + 'static
        + StartupSettings
        + ThreadEngines
        + Stores
        + Extensions
        + UserPlaces
        + FeedbackSupport
{
}

/// What the settings at the start of the server say.
pub trait StartupSettings {
    /// The configuration of the server.
    fn configuration(&self) -> &Configuration;

    /// Warnings about the configuration at the start of the server.
    fn warnings(&self) -> &[ConfigWarning];

    /// The configured model provider. Threads without one in their file have it.
    fn default_provider(&self) -> String;

    /// Whether threads may have goals.
    fn has_goals(&self) -> bool;

    /// How long an idle thread stays loaded after its last client has left it, if that client may come back.
    fn thread_unload_delay(&self) -> Duration;

    /// The release of clients that do not say theirs, if the settings name it.
    fn client_release(&self) -> Option<Release>;

    /// The base of relative paths.
    fn working_folder(&self) -> &Path;

    /// The shell that runs scripts of the user and the model.
    fn shell(&self) -> PathBuf;

    /// Checks a sandbox policy against the requirements.
    ///
    /// # Errors
    /// The policy is not allowed.
    fn check_sandbox_policy(&self, policy: &SandboxPolicy) -> Result<(), HostError>;
}

/// What runs threads and commands.
pub trait ThreadEngines {
    /// The identity for this client.
    fn identity(&self, client: &ClientName) -> Identity;

    /// Prepares a thread: computes its settings and finds its engine. Reads files, so it must run in a blocking task.
    ///
    /// # Errors
    /// The settings are invalid.
    fn prepare(&self, settings: &RequestedSettings) -> Result<PreparedThread, HostError>;

    /// Runs commands outside of threads.
    ///
    /// # Errors
    /// The configuration cannot be used.
    fn commands(&self) -> Result<Arc<StandaloneCommands>, HostError>;

    /// The machines that clients have registered.
    fn environments(&self) -> &Arc<Environments>;
}

/// What is kept over threads.
pub trait Stores {
    /// The login.
    fn accounts(&self) -> &Arc<Accounts>;

    /// The models that users can choose from.
    fn models(&self) -> &ModelStore;

    /// What files were before turns changed them.
    fn checkpoints(&self) -> &Arc<CheckpointStore>;

    /// What was taken from threads for later ones.
    fn memories(&self) -> &Arc<MemoryStore>;

    /// The thread index.
    fn store(&self) -> &ThreadStore;
}

/// What adds to threads: MCP servers, apps, hooks, skills, plugins.
pub trait Extensions {
    /// The configured MCP servers of a folder. Reads files.
    ///
    /// # Errors
    /// The configuration cannot be used.
    fn mcp_servers(&self, cwd: &Path) -> Result<McpSettings, HostError>;

    /// How to get apps, by the configuration of a folder with overrides. None without a ChatGPT login, or while the feature
    /// is off. Reads files.
    ///
    /// # Errors
    /// The configuration cannot be used.
    fn apps(
        &self,
        cwd: &Path,
        overrides: &Map<String, Value>,
    ) -> Result<Option<AppsAccess>, HostError>;

    /// The configured hooks of a folder. Reads files.
    ///
    /// # Errors
    /// The configuration cannot be used.
    fn hooks(&self, cwd: &Path) -> Result<HookCatalog, HostError>;

    /// The skills of this machine.
    fn skills(&self) -> &Arc<SkillLibrary>;

    /// Enables or disables a skill for the user. Writes a file.
    ///
    /// # Errors
    /// The file could not be written.
    fn switch_skill(&self, rule: &SkillToggle) -> Result<(), HostError>;

    /// Reads the enabled plugins again, for loaded threads and for the skills of all folders. Reads files.
    ///
    /// # Errors
    /// The configuration cannot be used.
    fn read_plugins(&self) -> Result<(), HostError>;
}

/// What the user has outside of the program: folders, files, a browser.
pub trait UserPlaces {
    /// The home folders.
    fn homes(&self) -> HomeFolders;

    /// The global git ignore files of the user.
    fn ignore_files(&self) -> Vec<PathBuf>;

    /// Opens a page in the browser of the user, if there is one.
    fn open_page(&self, url: &str);
}

/// What reports to the developers need.
pub trait FeedbackSupport {
    /// The settings of feedback reports.
    fn feedback(&self) -> FeedbackSettings;

    /// Sends a report, which is JSON, to a URL.
    fn send_feedback(
        &self,
        url: String,
        body: Vec<u8>,
    ) -> BoxFuture<'static, Result<(), HostError>>;

    /// The end of the log.
    fn log_tail(&self) -> String;
}
