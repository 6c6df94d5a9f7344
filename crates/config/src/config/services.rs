//! Settings with defaults for logins, storage and feedback.

use std::path::PathBuf;

use codex_protocol::ForcedLoginMethod;

use crate::config::LoadRequest;
use crate::schema::{ConfigFile, CredentialsStore, HistoryFile};

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
    /// Snapshots for undo.
    pub ghost_snapshot: GhostSnapshotSettings,
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
        ghost_snapshot: ghost_snapshot(file),
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
    fn numbers_stay_within_their_limits() {
        let file: ConfigFile = toml::from_str(
            "[ghost_snapshot]\nignore_untracked_files_over_bytes = 0\nignore_large_untracked_dirs = 5",
        )
        .unwrap();
        let snapshot = ghost_snapshot(&file);
        assert_eq!(snapshot.max_untracked_file_bytes, None);
        assert_eq!(snapshot.max_untracked_dir_files, Some(5));
    }

    #[test]
    fn a_blank_workspace_is_none() {
        let file = toml::from_str("forced_chatgpt_workspace_id = ' '").unwrap();
        assert_eq!(account(&file).forced_workspace, None);
    }
}
