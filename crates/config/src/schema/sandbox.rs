//! Sandbox modes and the environment of commands.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The access of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// Read only.
    ReadOnly,
    /// Also write in the working folder and some others.
    WorkspaceWrite,
    /// Without a sandbox.
    DangerFullAccess,
}

impl SandboxMode {
    /// The built-in permission profiles and their sandbox modes.
    pub const BUILT_IN_PERMISSIONS: [(&str, Self); 3] = [
        (":read-only", Self::ReadOnly),
        (":workspace", Self::WorkspaceWrite),
        (":danger-full-access", Self::DangerFullAccess),
    ];

    /// The sandbox mode of a built-in permission profile; none for other names.
    #[must_use]
    pub fn of_permissions(name: &str) -> Option<Self> {
        let mut all = Self::BUILT_IN_PERMISSIONS.into_iter();
        all.find_map(|(built_in, mode)| (built_in == name).then_some(mode))
    }
}

/// `[sandbox_workspace_write]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkspaceWriteFile {
    /// Additional writable folders.
    pub writable_roots: Vec<PathBuf>,
    /// Whether commands have network access.
    pub network_access: bool,
    /// Whether the folder that `TMPDIR` names stays read-only.
    pub exclude_tmpdir_env_var: bool,
    /// Whether `/tmp` stays read-only.
    pub exclude_slash_tmp: bool,
}

/// `[shell_environment_policy]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ShellEnvironmentFile {
    /// The variables to start with.
    pub inherit: Option<EnvironmentInherit>,
    /// Whether variables whose names suggest secrets are kept.
    pub ignore_default_excludes: Option<bool>,
    /// Patterns of variables to drop.
    pub exclude: Option<Vec<String>>,
    /// Variables to set.
    pub set: Option<BTreeMap<String, String>>,
    /// Patterns of the only variables to keep.
    pub include_only: Option<Vec<String>>,
    /// Accepted, without effect.
    pub experimental_use_profile: Option<bool>,
}

/// The variables that the environment of commands starts with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EnvironmentInherit {
    /// The variables that most programs need.
    Core,
    /// All variables.
    #[default]
    All,
    /// No variables.
    None,
}

/// `[windows]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WindowsFile {
    /// The sandbox.
    pub sandbox: Option<WindowsSandbox>,
    /// Whether commands get a private desktop.
    pub sandbox_private_desktop: Option<bool>,
}

/// The sandbox on Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowsSandbox {
    /// Separate users.
    Elevated,
    /// A restricted token.
    Unelevated,
}
