//! The settings of a session in its bundle: what a replay needs besides inputs, responses and answers of tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_core::{
    AgentJobs, AgentRole, AgentSettings, CodeMode, Features, HostCall, HostToolError, HostTools,
    InstructionFiles, JsRepl, RoleUnavailable, Roles, SessionConfig, StartingHistory,
    StartingThread, TeamSettings, WebSearch,
};
use codex_model_client::ToolMode;
use codex_protocol::{
    DynamicToolFunction, DynamicToolSpec, SessionSource, ThreadSettings, Verbosity,
};
use codex_thread_state::ThreadState;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The name of the protocol event with the settings.
pub const SETTINGS_EVENT: &str = "session_settings";

/// The settings of a root session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionSettings {
    /// Whether the session continues a stored thread or a copy of one.
    pub has_history: bool,
    /// Whether the bundle also contains histories, effects of hooks and taken inputs, as older ones do not.
    #[serde(default)]
    pub is_complete: bool,
    /// Whether the bundle also contains when idle threads took notices.
    #[serde(default)]
    pub has_idle_notices: bool,
    /// The time zone in requests.
    pub time_zone: String,
    /// Whether MCP servers were configured.
    pub has_mcp_servers: bool,
    /// Whether hooks were configured.
    #[serde(default)]
    pub has_hooks: bool,
    settings: ThreadSettings,
    review_model: Option<String>,
    verbosity: Option<Verbosity>,
    base_instructions: Option<String>,
    developer_instructions: Option<String>,
    compact_prompt: Option<String>,
    user_instructions: Option<String>,
    dynamic_tools: Vec<DynamicToolSpec>,
    host_tools: Option<RecordedHostTools>,
    web_search: WebSearch,
    features: Features,
    tool_output_tokens: Option<u64>,
    context_window: Option<i64>,
    auto_compact_limit: Option<i64>,
    shell: PathBuf,
    allow_login_shell: bool,
    stream_max_retries: u32,
    source: SessionSource,
    agents: Option<RecordedAgentSettings>,
    reasoning_summaries: bool,
    #[serde(default)]
    code_mode: Option<RecordedCodeMode>,
    /// Whether the model has a console, and whether it calls tools through it alone.
    #[serde(default)]
    console_only: Option<bool>,
    /// Whether jobs of agents are offered.
    #[serde(default)]
    has_agent_jobs: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct RecordedCodeMode {
    mode: ToolMode,
    excluded_namespaces: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct RecordedAgentSettings {
    max_threads: usize,
    max_depth: i32,
    roles: Vec<AgentRole>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    team: Option<TeamSettings>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct RecordedHostTools {
    functions: Vec<DynamicToolFunction>,
    are_offered: bool,
}

/// A difference between two settings: the members of the second that the first has otherwise.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettingsChange(Option<Value>);

impl SettingsChange {
    /// The change from one configuration to another.
    ///
    /// # Errors
    /// A setting cannot be written as JSON.
    pub fn between(before: &SessionConfig, after: &SessionConfig) -> serde_json::Result<Self> {
        let settings = |config: &SessionConfig| {
            serde_json::to_value(SessionSettings::of_config(config, false, ""))
        };
        Ok(Self(difference(&settings(before)?, &settings(after)?)))
    }
}

/// What of the second value differs from the first.
fn difference(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return (before != after).then(|| after.clone());
    };
    let members = new.iter().filter_map(|(name, value)| {
        let changed = difference(old.get(name).unwrap_or(&Value::Null), value)?;
        Some((name.clone(), changed))
    });
    let members: Map<String, Value> = members.collect();
    (!members.is_empty()).then_some(Value::Object(members))
}

fn apply(change: &Value, to: &mut Value) {
    match (change, to) {
        (Value::Object(members), Value::Object(to)) => {
            for (name, member) in members {
                apply(member, to.entry(name.clone()).or_insert(Value::Null));
            }
        }
        (change, to) => *to = change.clone(),
    }
}

impl SessionSettings {
    pub(crate) fn of(thread: &StartingThread<'_>) -> Self {
        Self::of_config(
            thread.config,
            !matches!(thread.history, StartingHistory::None),
            thread.time_zone,
        )
    }

    /// The working folder.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.settings.cwd
    }

    /// The same settings with another working folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        folder.clone_into(&mut self.settings.cwd);
        self
    }

    /// The same settings with a change.
    ///
    /// # Errors
    /// The result is no settings.
    pub fn changed(self, change: &SettingsChange) -> serde_json::Result<Self> {
        let Some(change) = &change.0 else {
            return Ok(self);
        };
        let mut settings = serde_json::to_value(&self)?;
        apply(change, &mut settings);
        serde_json::from_str(&settings.to_string())
    }

    fn of_config(config: &SessionConfig, has_history: bool, time_zone: &str) -> Self {
        let config = config.clone();
        Self {
            has_history,
            is_complete: true,
            has_idle_notices: true,
            time_zone: time_zone.to_owned(),
            has_mcp_servers: !config.mcp_servers.is_empty(),
            has_hooks: config.hooks.any(),
            settings: config.settings,
            review_model: config.review_model,
            verbosity: config.verbosity,
            base_instructions: config.base_instructions,
            developer_instructions: config.developer_instructions,
            compact_prompt: config.compact_prompt,
            user_instructions: config.user_instructions.as_deref().map(str::to_owned),
            dynamic_tools: config.dynamic_tools,
            host_tools: config.host_tools.map(|tools| RecordedHostTools {
                functions: tools.functions(),
                are_offered: tools.are_offered(),
            }),
            web_search: config.web_search,
            features: config.features,
            tool_output_tokens: config.tool_output_tokens,
            context_window: config.context_window,
            auto_compact_limit: config.auto_compact_limit,
            shell: config.shell,
            allow_login_shell: config.allow_login_shell,
            stream_max_retries: config.stream_max_retries,
            source: config.source,
            agents: config.agents.map(|agents| RecordedAgentSettings {
                max_threads: agents.max_threads,
                max_depth: agents.max_depth,
                roles: agents
                    .roles
                    .map_or_else(Vec::new, |roles| roles.all().to_vec()),
                team: agents.team.as_deref().cloned(),
            }),
            reasoning_summaries: config.reasoning_summaries,
            code_mode: config.code_mode.map(|code_mode| RecordedCodeMode {
                mode: code_mode.mode,
                excluded_namespaces: code_mode.excluded_namespaces,
            }),
            console_only: config.js_repl.map(|console| console.only),
            has_agent_jobs: config.agent_jobs.is_some(),
        }
    }

    /// The configuration of a session with these settings and another home folder. It has no MCP servers, no rules
    /// and no limits, and takes no snapshots.
    #[must_use]
    pub fn into_config(self, home: &Path) -> SessionConfig {
        let cwd = self.settings.cwd.clone();
        let user_instructions: Option<Arc<str>> = self.user_instructions.map(Arc::from);
        SessionConfig {
            settings: self.settings,
            review_model: self.review_model,
            verbosity: self.verbosity,
            base_instructions: self.base_instructions,
            developer_instructions: self.developer_instructions,
            compact_prompt: self.compact_prompt,
            instruction_files: Some(Arc::new(RecordedInstructions(user_instructions.clone()))),
            user_instructions,
            dynamic_tools: self.dynamic_tools,
            host_tools: self.host_tools.map(|tools| Arc::new(tools) as _),
            web_search: self.web_search,
            features: self.features,
            tool_output_tokens: self.tool_output_tokens,
            context_window: self.context_window,
            auto_compact_limit: self.auto_compact_limit,
            shell: self.shell,
            allow_login_shell: self.allow_login_shell,
            stream_max_retries: self.stream_max_retries,
            source: self.source,
            agents: self.agents.map(|agents| AgentSettings {
                max_threads: agents.max_threads,
                max_depth: agents.max_depth,
                roles: Some(Arc::new(RecordedRoles(agents.roles))),
                team: agents.team.map(Arc::new),
            }),
            reasoning_summaries: self.reasoning_summaries,
            // A replay runs no scripts and no jobs.
            code_mode: self.code_mode.map(|code_mode| CodeMode {
                program: PathBuf::new(),
                mode: code_mode.mode,
                excluded_namespaces: code_mode.excluded_namespaces,
            }),
            js_repl: self.console_only.map(|only| JsRepl {
                program: PathBuf::new(),
                only,
            }),
            agent_jobs: self.has_agent_jobs.then(|| AgentJobs {
                state: Arc::new(ThreadState::of_home(home, |_| None)),
                max_runtime: Duration::ZERO,
            }),
            ..SessionConfig::new(home, cwd, "")
        }
    }
}

/// The instructions of the recorded session, for agents in any folder.
#[derive(Debug)]
struct RecordedInstructions(Option<Arc<str>>);

impl InstructionFiles for RecordedInstructions {
    fn read(&self, _cwd: Option<&Path>) -> Option<String> {
        self.0.as_deref().map(str::to_owned)
    }

    fn sources(&self, _cwd: Option<&Path>) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Roles without their settings, which the bundle does not have.
#[derive(Debug)]
struct RecordedRoles(Vec<AgentRole>);

impl Roles for RecordedRoles {
    fn all(&self) -> &[AgentRole] {
        &self.0
    }

    fn apply(&self, _role: &str, _config: &mut SessionConfig) -> Result<(), RoleUnavailable> {
        Ok(())
    }
}

impl HostTools for RecordedHostTools {
    fn functions(&self) -> Vec<DynamicToolFunction> {
        self.functions.clone()
    }

    fn are_offered(&self) -> bool {
        self.are_offered
    }

    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<String, HostToolError>> {
        let error = format!("the replay has no tool {}", call.name);
        Box::pin(std::future::ready(Err(HostToolError(error))))
    }
}
