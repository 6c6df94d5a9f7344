//! The settings of a session in its bundle: what a replay needs besides inputs, responses and answers of tools.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_core::{
    AgentJobs, HostCall, HostToolError, HostTools, InstructionFiles, ReplayServices, ReplaySource,
    SessionConfig, SessionIdentity, SessionOptions, StartingHistory, StartingThread,
};
use codex_protocol::{DynamicToolFunction, SessionSource};
use codex_thread_state::ThreadState;
use futures::future::BoxFuture;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
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
    host_tools: Option<RecordedHostTools>,
    /// Whether jobs of agents are offered; only in older bundles.
    #[serde(default, skip_serializing)]
    has_agent_jobs: bool,
    #[serde(flatten)]
    options: SessionOptions,
    #[serde(flatten, deserialize_with = "recorded_identity")]
    identity: SessionIdentity,
}

/// Older bundles do not say whether anybody can be asked: nobody could in a run of `exec`.
fn recorded_identity<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<SessionIdentity, D::Error> {
    let members = Map::deserialize(deserializer)?;
    let is_older = !members.contains_key("is_unattended");
    let identity: Result<SessionIdentity, _> = serde_json::from_value(Value::Object(members));
    let mut identity = identity.map_err(D::Error::custom)?;
    if is_older {
        identity.is_unattended = identity.source == SessionSource::Exec;
    }
    Ok(identity)
}

/// How a recorded session runs again.
#[derive(Debug)]
pub struct ReplayedSession {
    /// Another home folder.
    pub home: PathBuf,
    /// The environment of commands that run for real.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    pub replay: Arc<dyn ReplaySource>,
    /// Whether the thread has a file.
    pub has_file: bool,
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

    /// Whether anything is changed.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.0.is_some()
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
    pub(crate) fn for_thread(thread: &StartingThread<'_>) -> Self {
        Self::of_config(
            thread.config,
            !matches!(thread.history, StartingHistory::None),
            thread.time_zone,
        )
    }

    /// The values of the session.
    #[must_use]
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// The working folder.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.options.settings.cwd
    }

    /// The same settings with another working folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        folder.clone_into(&mut self.options.settings.cwd);
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
        let services = &config.services;
        Self {
            has_history,
            is_complete: true,
            has_idle_notices: true,
            time_zone: time_zone.to_owned(),
            has_mcp_servers: !services.mcp_servers.is_empty(),
            has_hooks: services.hooks.any(),
            host_tools: (services.host_tools.as_ref()).map(|tools| RecordedHostTools {
                functions: tools.functions(),
                are_offered: tools.are_offered(),
            }),
            has_agent_jobs: false,
            options: config.options.clone(),
            identity: config.identity.clone(),
        }
    }

    /// The configuration of the session that runs again. No script and no job runs.
    #[must_use]
    pub fn into_config(self, session: ReplayedSession) -> SessionConfig {
        let ReplayedSession {
            home,
            environment,
            replay,
            has_file,
        } = session;
        let mut options = self.options;
        if self.has_agent_jobs {
            options.agent_jobs.get_or_insert(AgentJobs {
                max_runtime: Duration::ZERO,
            });
        }
        let instructions = RecordedInstructions(options.user_instructions.clone());
        let services = ReplayServices {
            thread_state: Arc::new(ThreadState::of_home(&home, |_| None)),
            home,
            environment,
            instruction_files: Arc::new(instructions),
            host_tools: self.host_tools.map(|tools| Arc::new(tools) as _),
            replay,
            has_file,
        };
        SessionConfig::for_replay(options, self.identity, services)
    }
}

/// The instructions of the recorded session, for agents in any folder.
#[derive(Debug)]
struct RecordedInstructions(Option<String>);

impl InstructionFiles for RecordedInstructions {
    fn read(&self, _cwd: Option<&Path>) -> Option<String> {
        self.0.clone()
    }

    fn sources(&self, _cwd: Option<&Path>) -> Vec<PathBuf> {
        Vec::new()
    }

    fn below(&self, _cwd: &Path, _paths: &[PathBuf]) -> Vec<(PathBuf, String)> {
        Vec::new()
    }

    fn are_followed(&self) -> bool {
        false
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

#[cfg(test)]
mod tests {

    use super::*;

    /// As version 1.0 wrote it.
    const OLDER_SETTINGS: &str = r#"{
        "has_history": false, "is_complete": true, "has_idle_notices": true, "time_zone": "Etc/UTC",
        "has_mcp_servers": false, "has_hooks": false,
        "settings": {
            "cwd": "/work", "model": "scripted", "provider": "scripted", "effort": null, "summary": null,
            "service_tier": null, "personality": null, "mode": "default", "mode_instructions": null,
            "approval_policy": "never", "approvals_reviewer": "user",
            "sandbox_policy": { "type": "danger-full-access" }, "permission_profile": null
        },
        "review_model": null, "verbosity": null, "base_instructions": null,
        "developer_instructions": "Answer briefly.", "compact_prompt": null, "user_instructions": null,
        "dynamic_tools": [], "host_tools": { "functions": [], "are_offered": true },
        "web_search": { "mode": "disabled", "live_with_full_access": false, "options": null },
        "features": { "shell_tool": true }, "tool_output_tokens": null, "context_window": null,
        "auto_compact_limit": null, "shell": "/bin/zsh", "allow_login_shell": false, "stream_max_retries": 1,
        "source": "exec",
        "agents": {
            "max_threads": 6, "max_depth": 1,
            "roles": [{ "name": "careful", "description": "Reads twice.", "nicknames": [] }]
        },
        "reasoning_summaries": false,
        "code_mode": { "mode": "code_mode", "excluded_namespaces": ["mail"] },
        "console_only": true, "has_agent_jobs": true
    }"#;

    #[test]
    fn older_bundle_settings_are_readable() {
        let settings: SessionSettings = serde_json::from_str(OLDER_SETTINGS).unwrap();
        let SessionSettings {
            options,
            identity,
            host_tools,
            has_agent_jobs,
            ..
        } = settings;
        assert_eq!(identity.source, SessionSource::Exec);
        assert!(identity.is_unattended);
        assert!(host_tools.unwrap().are_offered);
        assert!(has_agent_jobs);
        let agents = options.agents.unwrap();
        assert_eq!(agents.roles[0].settings, Ok(Default::default()));
        assert!(options.js_repl.unwrap().only);
        assert_eq!(options.code_mode.unwrap().excluded_namespaces, ["mail"]);
        assert_eq!(options.shell, Path::new("/bin/zsh"));
        assert!(!options.allow_login_shell);
        assert_eq!(options.developer_instructions.unwrap(), "Answer briefly.");
        assert_eq!(options.memory_summary, None);
        assert!(options.context_sections.permissions);
    }
}
