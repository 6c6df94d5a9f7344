//! What a thread may do on its own: when a person is asked, and what the sandbox lets through.

use std::path::{Path, PathBuf};

use codex_app_server_protocol_macros::Tagged;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::{
    MacOsAutomationPermission, MacOsContactsPermission, MacOsPreferencesPermission,
};
use crate::ids::AbsolutePathBuf;

/// When a person is asked before something is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AskForApproval {
    /// For every command that is not known to be safe.
    #[serde(rename = "untrusted")]
    UnlessTrusted,
    /// When something failed in the sandbox, to try it without.
    OnFailure,
    /// When the model asks to leave the sandbox.
    #[default]
    OnRequest,
    /// As on request, with each kind of prompt allowed or refused by itself.
    Granular(GranularApproval),
    /// Never; failures go back to the model.
    Never,
}

/// Which kinds of prompts are shown; the others are refused without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GranularApproval {
    /// Prompts to leave the sandbox.
    pub sandbox_approval: bool,
    /// Prompts that a command rule demands.
    pub rules: bool,
    /// Prompts of skill scripts.
    #[serde(default)]
    pub skill_approval: bool,
    /// Prompts of the tool that asks for permissions.
    #[serde(default)]
    pub request_permissions: bool,
    /// Questions of MCP servers.
    pub mcp_elicitations: bool,
}

/// Who answers approval requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalsReviewer {
    /// The client.
    #[default]
    User,
    /// A model that judges the risk.
    #[serde(alias = "auto_review")]
    GuardianSubagent,
}

/// The sandbox policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum SandboxPolicy {
    /// Everything; there is no sandbox.
    DangerFullAccess,
    /// Reading.
    ReadOnly {
        /// What may be read.
        #[serde(default, skip_serializing_if = "ReadOnlyAccess::is_full")]
        access: ReadOnlyAccess,
        /// Whether the network may be used.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        network_access: bool,
    },
    /// Whatever a sandbox around the engine lets through.
    ExternalSandbox {
        /// What that sandbox does about the network.
        #[serde(default)]
        network_access: NetworkAccess,
    },
    /// Reading, and writing below some folders.
    WorkspaceWrite {
        /// Folders to write in, besides the working directory.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        writable_roots: Vec<AbsolutePathBuf>,
        /// What may be read.
        #[serde(default, skip_serializing_if = "ReadOnlyAccess::is_full")]
        read_only_access: ReadOnlyAccess,
        /// Whether the network may be used.
        #[serde(default)]
        network_access: bool,
        /// Whether the folder that `TMPDIR` names is left out.
        #[serde(default)]
        exclude_tmpdir_env_var: bool,
        /// Whether `/tmp` is left out.
        #[serde(default)]
        exclude_slash_tmp: bool,
        /// Paths that stay read-only, absolute or below the working directory. Only this program writes them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        read_only_paths: Vec<PathBuf>,
    },
}

impl SandboxPolicy {
    /// All paths that it names.
    pub fn paths_mut(&mut self) -> impl Iterator<Item = &mut AbsolutePathBuf> {
        let (writable, access) = match self {
            Self::WorkspaceWrite {
                writable_roots,
                read_only_access,
                ..
            } => (Some(writable_roots), Some(read_only_access)),
            Self::ReadOnly { access, .. } => (None, Some(access)),
            Self::DangerFullAccess | Self::ExternalSandbox { .. } => (None, None),
        };
        let readable = match access {
            Some(ReadOnlyAccess::Restricted { readable_roots, .. }) => Some(readable_roots),
            Some(ReadOnlyAccess::FullAccess) | None => None,
        };
        writable.into_iter().chain(readable).flatten()
    }

    /// What the policy lets be read, and nothing else.
    #[must_use]
    pub fn only_reading(&self) -> Self {
        let access = match self {
            Self::ReadOnly { access, .. } => access.clone(),
            Self::WorkspaceWrite {
                writable_roots,
                read_only_access,
                ..
            } => {
                let mut access = read_only_access.clone();
                if let ReadOnlyAccess::Restricted { readable_roots, .. } = &mut access {
                    readable_roots.extend(writable_roots.iter().cloned());
                }
                access
            }
            Self::DangerFullAccess | Self::ExternalSandbox { .. } => ReadOnlyAccess::FullAccess,
        };
        Self::ReadOnly {
            access,
            network_access: false,
        }
    }

    /// The same policy for another working directory: what it says of paths below `cwd` still is about those.
    pub fn moved_from(mut self, cwd: &Path) -> Self {
        let (read_only, access) = match &mut self {
            Self::WorkspaceWrite {
                read_only_paths,
                read_only_access,
                ..
            } => (Some(read_only_paths), read_only_access),
            Self::ReadOnly { access, .. } => (None, access),
            Self::DangerFullAccess | Self::ExternalSandbox { .. } => return self,
        };
        let denied = match access {
            ReadOnlyAccess::Restricted { denied_paths, .. } => Some(denied_paths),
            ReadOnlyAccess::FullAccess => None,
        };
        for path in read_only.into_iter().chain(denied).flatten() {
            *path = cwd.join(&*path);
        }
        self
    }
}

/// What a sandbox lets be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Tagged)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ReadOnlyAccess {
    /// Some folders.
    Restricted {
        /// Whether the folders that programs need to run are among them.
        #[serde(default = "yes")]
        include_platform_defaults: bool,
        /// The folders.
        #[serde(default)]
        readable_roots: Vec<AbsolutePathBuf>,
        /// Paths in them that may not be read, absolute or below the working directory. Only this program writes them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        denied_paths: Vec<PathBuf>,
    },
    /// Everything.
    #[default]
    FullAccess,
}

impl ReadOnlyAccess {
    /// Whether everything may be read.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::FullAccess)
    }
}

fn yes() -> bool {
    true
}

/// State of the network inside a sandbox that others set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAccess {
    /// Commands cannot count on it.
    #[default]
    Restricted,
    /// Commands can use it.
    Enabled,
}

/// How strongly commands are confined on Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowsSandboxLevel {
    /// Not at all.
    Disabled,
    /// By a restricted token of the same user.
    RestrictedToken,
    /// By users of their own, set up with raised rights.
    Elevated,
}

/// Permissions beyond the sandbox policy, for one command or for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionProfile {
    /// The network.
    pub network: Option<NetworkPermissions>,
    /// Files.
    pub file_system: Option<FileSystemPermissions>,
    /// Things that only macOS has.
    pub macos: Option<MacOsPermissions>,
}

/// Network permissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPermissions {
    /// Whether the network may be used.
    pub enabled: Option<bool>,
}

/// File permissions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystemPermissions {
    /// What may be read.
    pub read: Option<Vec<AbsolutePathBuf>>,
    /// What may be written.
    pub write: Option<Vec<AbsolutePathBuf>>,
}

/// Permissions for things that only macOS has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacOsPermissions {
    /// Preferences.
    #[serde(default = "preferences_default")]
    pub macos_preferences: MacOsPreferencesPermission,
    /// Controlling other programs.
    #[serde(default = "automation_default")]
    pub macos_automation: MacOsAutomationPermission,
    /// Starting programs through launch services.
    #[serde(default)]
    pub macos_launch_services: bool,
    /// The accessibility interface.
    #[serde(default)]
    pub macos_accessibility: bool,
    /// The calendar.
    #[serde(default)]
    pub macos_calendar: bool,
    /// Reminders.
    #[serde(default)]
    pub macos_reminders: bool,
    /// Contacts.
    #[serde(default = "contacts_default")]
    pub macos_contacts: MacOsContactsPermission,
}

fn preferences_default() -> MacOsPreferencesPermission {
    MacOsPreferencesPermission::ReadOnly
}

fn automation_default() -> MacOsAutomationPermission {
    MacOsAutomationPermission::None
}

fn contacts_default() -> MacOsContactsPermission {
    MacOsContactsPermission::None
}

/// Permissions that the model asks for by a tool of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPermissionProfile {
    /// The network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkPermissions>,
    /// Files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystemPermissions>,
}

/// How long granted access lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionGrantScope {
    /// Until the turn ends.
    #[default]
    Turn,
    /// Until the session ends.
    Session,
}
