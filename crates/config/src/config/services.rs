//! Settings with defaults for logins, storage and feedback.

use std::path::PathBuf;
use std::time::Duration;

use codex_protocol::{ForcedLoginMethod, RealtimeConversationVersion};

use crate::config::LoadRequest;
use crate::schema::{
    CheckpointsFile, ConfigFile, CredentialsStore, HistoryFile, RealtimeKind, RolloutTraceFile,
    TracesFile, WorkspaceIds,
};

const THREAD_UNLOAD_DELAY: Duration = Duration::from_secs(60);
const CHATGPT_BASE_URL: &str = "https://chatgpt.com/backend-api/";

/// Settings of logins and the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSettings {
    /// Where the login is stored.
    pub credentials_store: CredentialsStore,
    /// Restricts the kind of login.
    pub forced_login_method: Option<ForcedLoginMethod>,
    /// The only workspaces that logins may belong to; empty allows any.
    pub forced_workspaces: Vec<String>,
    /// Why it is not known which logins the settings allow, if it is not.
    pub unknown_restriction: Option<String>,
    /// The address of the backend.
    pub chatgpt_base_url: String,
    /// Whether the settings name that address.
    pub is_base_url_set: bool,
}

pub(super) fn account(file: &ConfigFile) -> AccountSettings {
    let workspaces = file.forced_chatgpt_workspace_id.as_ref();
    let url = file.chatgpt_base_url.as_deref().unwrap_or(CHATGPT_BASE_URL);
    AccountSettings {
        credentials_store: file.cli_auth_credentials_store.unwrap_or_default(),
        forced_login_method: file.forced_login_method,
        forced_workspaces: workspaces.map(WorkspaceIds::named).unwrap_or_default(),
        unknown_restriction: None,
        chatgpt_base_url: url.to_owned(),
        is_base_url_set: file.chatgpt_base_url.is_some(),
    }
}

/// Settings of files on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageSettings {
    /// The message history.
    pub history: HistoryFile,
    /// The folder of the databases.
    pub sqlite_home: PathBuf,
    /// The folder of log files, if logs are written.
    pub log_dir: Option<PathBuf>,
    /// Checkpoints of files.
    pub checkpoints: CheckpointsFile,
    /// How long traces are kept.
    pub traces: TracesFile,
    /// How much of a session is recorded in its trace.
    pub rollout_trace: RolloutTraceFile,
    /// How long an idle thread stays loaded after its last client has left it.
    pub thread_unload_delay: Duration,
}

pub(super) fn storage(file: &ConfigFile, request: LoadRequest<'_>) -> StorageSettings {
    let home = &request.env.codex_home;
    let from_variable = request.env.variables.sqlite_home.as_ref().map(|path| {
        let folder = request.cwd.unwrap_or(home);
        request.env.path_base(folder).absolute(path)
    });
    let databases = file.sqlite_home.clone().or(from_variable);
    StorageSettings {
        history: file.history.unwrap_or_default(),
        sqlite_home: databases.unwrap_or_else(|| home.clone()),
        log_dir: file.log_dir.clone(),
        checkpoints: file.checkpoints,
        traces: file.traces,
        rollout_trace: file.rollout_trace,
        thread_unload_delay: file
            .thread_unload_delay_secs
            .map_or(THREAD_UNLOAD_DELAY, Duration::from_secs),
    }
}

/// Settings of feedback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// Whether feedback may be sent.
    pub feedback: bool,
    /// The address for feedback.
    pub feedback_endpoint: Option<String>,
}

pub(super) fn telemetry(file: &ConfigFile) -> TelemetrySettings {
    let feedback = file.feedback.clone().unwrap_or_default();
    TelemetrySettings {
        feedback: feedback.enabled.unwrap_or(true),
        feedback_endpoint: feedback.endpoint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_workspace_is_none() {
        for (text, expected) in [
            ("' '", &[][..]),
            ("[]", &[]),
            ("['', ' ']", &[]),
            ("' a '", &["a"]),
            ("['a', ' b']", &["a", "b"]),
        ] {
            let file = toml::from_str(&format!("forced_chatgpt_workspace_id = {text}")).unwrap();
            assert_eq!(account(&file).forced_workspaces, expected, "{text}");
        }
        let commas = toml::from_str::<ConfigFile>("forced_chatgpt_workspace_id = 'a,b'");
        assert!(commas.unwrap_err().to_string().contains("are a list"));
    }
}

/// Settings of realtime conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RealtimeConfig {
    /// The version of the protocol.
    pub version: RealtimeConversationVersion,
    pub kind: RealtimeKind,
    /// The address of the server, in place of the provider's.
    pub base_url: Option<String>,
    pub model: Option<String>,
    /// Instructions for the model, in place of those of the client.
    pub prompt: Option<String>,
    /// What the model is told about the thread, in place of a generated text.
    pub startup_context: Option<String>,
    /// What the coding model is told while a conversation lasts.
    pub start_instructions: Option<String>,
}

pub(super) fn realtime(file: &ConfigFile) -> RealtimeConfig {
    let realtime = file.realtime.unwrap_or_default();
    RealtimeConfig {
        version: realtime.version.unwrap_or_default(),
        kind: realtime.kind.unwrap_or_default(),
        base_url: file.experimental_realtime_ws_base_url.clone(),
        model: file.experimental_realtime_ws_model.clone(),
        prompt: file.experimental_realtime_ws_backend_prompt.clone(),
        startup_context: file.experimental_realtime_ws_startup_context.clone(),
        start_instructions: file.experimental_realtime_start_instructions.clone(),
    }
}
