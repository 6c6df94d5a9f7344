//! What the server needs of the program around it: configuration and an engine.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use codex_config::{ConfigWarning, DeprecationNotice, RequestParams};
use codex_core::{McpServer, SessionConfig, StandaloneCommands, ThreadManager};
use codex_external_agent::Homes;
use codex_login::Accounts;
use codex_mcp_client::{Connector, Server};
use codex_model_client::ModelStore;
use codex_protocol::SandboxPolicy;
use codex_skills::{SkillLibrary, SkillToggle};
use codex_thread_store::ThreadStore;
use serde_json::{Map, Value};

use crate::configuration::Configuration;

/// The client in front of the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientName {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What the server says of itself to a client.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The user agent of requests to models.
    pub user_agent: String,
    /// The home folder of the engine.
    pub home: PathBuf,
}

/// What a request asks of a thread's settings, in place of what is configured.
#[derive(Clone, Debug)]
pub struct RequestedSettings {
    /// The folder to work in; the server's own unless given.
    pub cwd: Option<PathBuf>,
    /// What the request says explicitly.
    pub params: RequestParams,
    /// Settings by their names.
    pub overrides: Map<String, Value>,
    /// The name by which the sandbox is chosen, if it is.
    pub permission_profile: Option<String>,
    /// The client.
    pub client: ClientName,
}

/// What a thread is started with.
#[derive(Debug)]
pub struct Prepared {
    /// The engine that runs it.
    pub manager: Arc<ThreadManager>,
    /// Its settings.
    pub config: SessionConfig,
    /// What is odd about the settings and was not at the start of the server.
    pub warnings: Vec<ConfigWarning>,
    /// What is obsolete in them.
    pub deprecations: Vec<DeprecationNotice>,
}

/// The MCP servers of the configuration.
#[derive(Debug)]
pub struct McpSettings {
    /// Connects to them.
    pub connector: Connector,
    /// Those that are started.
    pub enabled: Vec<McpServer>,
    /// The others.
    pub disabled: Vec<Server>,
}

/// What becomes of reports.
#[derive(Clone, Debug)]
pub struct FeedbackSettings {
    /// Whether there may be any.
    pub enabled: bool,
    /// Where they are kept.
    pub folder: PathBuf,
    /// Where they are sent, if anywhere.
    pub endpoint: Option<String>,
}

/// A report on its way; if it does not arrive, a sentence says why.
pub type Sending = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// The program around the server.
pub trait Host: Debug + Send + Sync + 'static {
    /// Who the server is, to this client.
    fn identity(&self, client: &ClientName) -> Identity;

    /// The settings of the server itself.
    fn configuration(&self) -> &Configuration;

    /// What was odd about the settings at the start of the server.
    fn warnings(&self) -> &[ConfigWarning];

    /// Who is logged in.
    fn accounts(&self) -> &Arc<Accounts>;

    /// The models that users can choose from.
    fn models(&self) -> &ModelStore;

    /// Works out the settings of a thread. Reads files; called where that may take its time.
    ///
    /// # Errors
    /// The settings do not fit together; a sentence that says why.
    fn prepare(&self, settings: &RequestedSettings) -> Result<Prepared, String>;

    /// What commands outside of threads run with. Reads files the first time.
    ///
    /// # Errors
    /// The configuration cannot be read; a sentence that says why.
    fn commands(&self) -> Result<Arc<StandaloneCommands>, String>;

    /// The MCP servers of a folder, as they are configured now. Reads files.
    ///
    /// # Errors
    /// The configuration cannot be read; a sentence that says why.
    fn mcp_servers(&self, cwd: &Path) -> Result<McpSettings, String>;

    /// What becomes of reports.
    ///
    /// # Errors
    /// The configuration cannot be read; a sentence that says why.
    fn feedback(&self) -> Result<FeedbackSettings, String>;

    /// Sends a report, which is JSON, to a URL.
    fn send_feedback(&self, url: String, body: Vec<u8>) -> Sending;

    /// The last that was logged.
    fn log_tail(&self) -> String;

    /// The home folders.
    fn homes(&self) -> Homes;

    /// The user's own ignore files, which count in every repository.
    fn ignore_files(&self) -> Vec<PathBuf>;

    /// Whether such a command may run under this policy.
    ///
    /// # Errors
    /// It may not; a sentence that says why.
    fn check_sandbox_policy(&self, policy: &SandboxPolicy) -> Result<(), String>;

    /// The index over all threads.
    fn store(&self) -> &ThreadStore;

    /// The provider of threads without one in their file: the configured one. Reads files.
    ///
    /// # Errors
    /// The configuration cannot be read; a sentence that says why.
    fn default_provider(&self) -> Result<String, String>;

    /// The folder that relative paths start at.
    fn working_folder(&self) -> &Path;

    /// The skills of this machine.
    fn skills(&self) -> &Arc<SkillLibrary>;

    /// Turns skills on or off for the user. Writes a file.
    ///
    /// # Errors
    /// It was not written; a sentence that says why.
    fn switch_skill(&self, rule: &SkillToggle) -> Result<(), String>;
}
