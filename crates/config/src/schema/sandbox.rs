//! Sandbox modes and the environment of commands.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What commands may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// They may read.
    ReadOnly,
    /// They may also write in the working folder and some others.
    WorkspaceWrite,
    /// Everything.
    DangerFullAccess,
}

impl SandboxMode {
    /// Permissions that need no table of the configuration, and what they come to.
    pub const BUILT_IN_PERMISSIONS: [(&str, Self); 3] = [
        (":read-only", Self::ReadOnly),
        (":workspace", Self::WorkspaceWrite),
        (":danger-full-access", Self::DangerFullAccess),
    ];

    /// What permissions that are built in come to; none if they are not.
    #[must_use]
    pub fn of_permissions(name: &str) -> Option<Self> {
        let mut all = Self::BUILT_IN_PERMISSIONS.into_iter();
        all.find_map(|(built_in, mode)| (built_in == name).then_some(mode))
    }
}

/// `[sandbox_workspace_write]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkspaceWriteFile {
    /// Further folders to write in.
    pub writable_roots: Vec<PathBuf>,
    /// Whether the network may be used.
    pub network_access: bool,
    /// Whether the folder that `TMPDIR` names stays read-only.
    pub exclude_tmpdir_env_var: bool,
    /// Whether `/tmp` stays read-only.
    pub exclude_slash_tmp: bool,
}

/// `[shell_environment_policy]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShellEnvironmentFile {
    /// What commands start from.
    pub inherit: Option<EnvironmentInherit>,
    /// Whether variables that look like secrets are kept.
    pub ignore_default_excludes: Option<bool>,
    /// Patterns of variables to drop.
    pub exclude: Option<Vec<String>>,
    /// Variables to set.
    pub set: Option<BTreeMap<String, String>>,
    /// Patterns of the only variables to keep.
    pub include_only: Option<Vec<String>>,
    /// Read, without effect.
    pub experimental_use_profile: Option<bool>,
}

/// What the environment of commands starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnvironmentInherit {
    /// The variables that most programs need.
    Core,
    /// Everything.
    #[default]
    All,
    /// Nothing.
    None,
}

/// `[windows]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowsFile {
    /// How commands are confined.
    pub sandbox: Option<WindowsSandbox>,
    /// Whether they get a desktop of their own.
    pub sandbox_private_desktop: Option<bool>,
}

/// How commands are confined on Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowsSandbox {
    /// By users of their own.
    Elevated,
    /// By a restricted token.
    Unelevated,
}
