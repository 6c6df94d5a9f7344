//! Settings with defaults for logins, storage, telemetry and voice.

use std::path::PathBuf;

use codex_protocol::{ForcedLoginMethod, RealtimeConversationVersion};

use crate::config::LoadRequest;
use crate::schema::{
    ConfigFile, CredentialsStore, Exporter, HistoryFile, MemoriesFile, RealtimeKind,
};

const CHATGPT_BASE_URL: &str = "https://chatgpt.com/backend-api/";

/// Settings of logins and the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSettings {
    /// Where the login is stored.
    pub credentials_store: CredentialsStore,
    /// Restricts the kind of login.
    pub forced_login_method: Option<ForcedLoginMethod>,
    /// Restricts the workspace.
    pub forced_workspace: Option<String>,
    /// The address of the backend.
    pub chatgpt_base_url: String,
}

pub(super) fn account(file: &ConfigFile) -> AccountSettings {
    let workspace = file.forced_chatgpt_workspace_id.as_deref().map(str::trim);
    let workspace = workspace.filter(|id| !id.is_empty());
    let url = file.chatgpt_base_url.as_deref().unwrap_or(CHATGPT_BASE_URL);
    AccountSettings {
        credentials_store: file.cli_auth_credentials_store.unwrap_or_default(),
        forced_login_method: file.forced_login_method,
        forced_workspace: workspace.map(str::to_owned),
        chatgpt_base_url: url.to_owned(),
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
    pub memories: MemorySettings,
    /// Snapshots for undo.
    pub ghost_snapshot: GhostSnapshotSettings,
}

/// Settings of memories, within their limits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct MemorySettings {
    pub use_memories: bool,
    pub generate_memories: bool,
    pub no_memories_if_mcp_or_web_search: bool,
    pub max_raw_memories_for_consolidation: u32,
    pub max_unused_days: u32,
    pub max_rollout_age_days: u32,
    pub max_rollouts_per_startup: u32,
    pub min_rollout_idle_hours: u32,
    pub extract_model: Option<String>,
    pub consolidation_model: Option<String>,
}

/// Snapshots for undo. An absent limit is not applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GhostSnapshotSettings {
    /// Larger untracked files are left out.
    pub max_untracked_file_bytes: Option<u64>,
    /// Untracked folders with more files are left out.
    pub max_untracked_dir_files: Option<u64>,
    /// Whether warnings about left-out files are suppressed.
    pub disable_warnings: bool,
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
        memories: memories(file.memories.clone().unwrap_or_default()),
        ghost_snapshot: ghost_snapshot(file),
    }
}

fn memories(file: MemoriesFile) -> MemorySettings {
    let within = |value: Option<i64>, default: u32, least: u32, most: u32| {
        let value = value.unwrap_or(i64::from(default));
        u32::try_from(value.clamp(i64::from(least), i64::from(most))).unwrap_or(default)
    };
    MemorySettings {
        use_memories: file.use_memories.unwrap_or(true),
        generate_memories: file.generate_memories.unwrap_or(true),
        no_memories_if_mcp_or_web_search: file.no_memories_if_mcp_or_web_search.unwrap_or(false),
        max_raw_memories_for_consolidation: within(
            file.max_raw_memories_for_consolidation,
            256,
            0,
            4096,
        ),
        max_unused_days: within(file.max_unused_days, 30, 0, 365),
        max_rollout_age_days: within(file.max_rollout_age_days, 30, 0, 90),
        max_rollouts_per_startup: within(file.max_rollouts_per_startup, 16, 0, 128),
        min_rollout_idle_hours: within(file.min_rollout_idle_hours, 6, 1, 48),
        extract_model: file.extract_model,
        consolidation_model: file.consolidation_model,
    }
}

fn ghost_snapshot(file: &ConfigFile) -> GhostSnapshotSettings {
    let file = file.ghost_snapshot.unwrap_or_default();
    let positive = |value: Option<i64>, default: u64| match value {
        None => Some(default),
        Some(value) => u64::try_from(value).ok().filter(|value| *value > 0),
    };
    GhostSnapshotSettings {
        max_untracked_file_bytes: positive(file.ignore_large_untracked_files, 10 << 20),
        max_untracked_dir_files: positive(file.ignore_large_untracked_dirs, 200),
        disable_warnings: file.disable_warnings.unwrap_or(false),
    }
}

/// Settings of telemetry and feedback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// Whether usage is reported. If absent, the start parameter decides.
    pub analytics: Option<bool>,
    /// Whether feedback may be sent.
    pub feedback: bool,
    /// The address for feedback.
    pub feedback_endpoint: Option<String>,
    pub otel: OtelSettings,
}

/// Export of logs, traces and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtelSettings {
    /// Whether exported logs include prompts.
    pub log_user_prompt: bool,
    /// The name of the deployment environment.
    pub environment: String,
    pub exporter: Exporter,
    pub trace_exporter: Exporter,
    pub metrics_exporter: Exporter,
}

pub(super) fn telemetry(file: &ConfigFile) -> TelemetrySettings {
    let otel = file.otel.clone().unwrap_or_default();
    let exporter = otel.exporter.unwrap_or(Exporter::None);
    TelemetrySettings {
        analytics: file.analytics.and_then(|analytics| analytics.enabled),
        feedback: file
            .feedback
            .as_ref()
            .and_then(|feedback| feedback.enabled)
            .unwrap_or(true),
        feedback_endpoint: file
            .feedback
            .as_ref()
            .and_then(|feedback| feedback.endpoint.clone()),
        otel: OtelSettings {
            log_user_prompt: otel.log_user_prompt.unwrap_or(false),
            environment: otel.environment.unwrap_or_else(|| "dev".to_owned()),
            trace_exporter: otel.trace_exporter.unwrap_or_else(|| exporter.clone()),
            exporter,
            metrics_exporter: otel.metrics_exporter.unwrap_or(Exporter::Statsig),
        },
    }
}

/// Settings of voice conversations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealtimeSettings {
    /// The protocol version of the service.
    pub version: RealtimeConversationVersion,
    /// The kind of conversation.
    pub kind: RealtimeKind,
    /// Replaces the address of the provider.
    pub base_url: Option<String>,
    pub model: Option<String>,
    /// Replaces the prompt of the client.
    pub backend_prompt: Option<String>,
    /// Replaces the generated startup context.
    pub startup_context: Option<String>,
    /// Instructions for the coding model when a conversation starts.
    pub start_instructions: Option<String>,
}

pub(super) fn realtime(file: &ConfigFile) -> RealtimeSettings {
    let realtime = file.realtime.unwrap_or_default();
    RealtimeSettings {
        version: realtime.version.unwrap_or(RealtimeConversationVersion::V1),
        kind: realtime.kind.unwrap_or_default(),
        base_url: file.experimental_realtime_ws_base_url.clone(),
        model: file.experimental_realtime_ws_model.clone(),
        backend_prompt: file.experimental_realtime_ws_backend_prompt.clone(),
        startup_context: file.experimental_realtime_ws_startup_context.clone(),
        start_instructions: file.experimental_realtime_start_instructions.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_within_their_limits() {
        let file: ConfigFile = toml::from_str(
            "[memories]\nmax_unused_days = 9999\nmin_rollout_idle_hours = -3\n\
             [ghost_snapshot]\nignore_untracked_files_over_bytes = 0\nignore_large_untracked_dirs = 5",
        )
        .unwrap();
        let memories = memories(file.memories.clone().unwrap());
        assert_eq!(memories.max_unused_days, 365);
        assert_eq!(memories.min_rollout_idle_hours, 1);
        assert_eq!(memories.max_rollouts_per_startup, 16);
        let snapshot = ghost_snapshot(&file);
        assert_eq!(snapshot.max_untracked_file_bytes, None);
        assert_eq!(snapshot.max_untracked_dir_files, Some(5));
    }

    #[test]
    fn traces_go_where_logs_go() {
        let file: ConfigFile = toml::from_str(
            "otel.exporter = { otlp-grpc = { endpoint = 'http://x' } }\nforced_chatgpt_workspace_id = ' '",
        )
        .unwrap();
        let otel = telemetry(&file).otel;
        assert_eq!(otel.trace_exporter, otel.exporter);
        assert_eq!(otel.metrics_exporter, Exporter::Statsig);
        assert_eq!(account(&file).forced_workspace, None);
    }
}
