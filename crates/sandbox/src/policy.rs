//! Sandbox policies as plain values.
//!
//! This crate has its own types, so that it does not depend on a wire format. They do not depend on the machine; `roots`
//! converts them to paths.

use std::path::PathBuf;
use std::sync::Arc;

use codex_hidden_files::HiddenFiles;

use crate::engine_files::EngineFiles;
use crate::network_limits::{LimitedCommands, NetworkLimits};
use crate::network_mode::NetworkMode;

/// What commands may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadAccess {
    /// The whole file system.
    Full,
    /// The listed folders, everything writable, and the working folder.
    Restricted {
        /// Whether the folders of programs and libraries are readable too.
        platform_defaults: bool,
        roots: Vec<PathBuf>,
        /// Paths that may be neither read nor written; relative ones are joined to the working folder.
        denied: Vec<PathBuf>,
    },
}

/// Options of [`ConfinementPolicy::WorkspaceWrite`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceWrite {
    /// Additional writable folders; relative ones are joined to the working folder.
    pub writable_roots: Vec<PathBuf>,
    pub read: ReadAccess,
    pub network: NetworkMode,
    /// Whether the temporary folder of commands is writable.
    pub tmpdir: bool,
    pub slash_tmp: bool,
    /// Paths in writable folders that stay read-only; relative ones are joined to the working folder.
    pub read_only: Vec<PathBuf>,
}

impl Default for WorkspaceWrite {
    fn default() -> Self {
        Self {
            writable_roots: Vec::new(),
            read: ReadAccess::Full,
            network: NetworkMode::Restricted,
            tmpdir: true,
            slash_tmp: true,
            read_only: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfinementPolicy {
    /// No restrictions.
    DangerFullAccess,
    /// An outer sandbox confines the whole engine; nothing is enforced here.
    External {
        /// The network access of the outer sandbox. Reported to commands, not enforced.
        network: NetworkMode,
    },
    /// Read only.
    ReadOnly {
        read: ReadAccess,
        network: NetworkMode,
    },
    /// Write access to the working folder and a few others.
    WorkspaceWrite(WorkspaceWrite),
}

impl ConfinementPolicy {
    /// Full read access, no write access, no network.
    #[must_use]
    pub fn read_only() -> Self {
        Self::ReadOnly {
            read: ReadAccess::Full,
            network: NetworkMode::Restricted,
        }
    }

    /// The network access of the policy.
    #[must_use]
    pub fn network(&self) -> NetworkMode {
        match self {
            Self::DangerFullAccess => NetworkMode::Enabled,
            Self::External { network } | Self::ReadOnly { network, .. } => *network,
            Self::WorkspaceWrite(options) => options.network,
        }
    }

    /// Whether files are confined at all.
    pub(crate) fn confines_files(&self) -> bool {
        !matches!(self, Self::DangerFullAccess | Self::External { .. })
    }

    /// Which limits of the network apply to commands with this policy.
    pub(crate) fn limited_commands(&self) -> LimitedCommands {
        match self {
            Self::DangerFullAccess | Self::External { .. } => LimitedCommands::OfModel,
            Self::ReadOnly { .. } | Self::WorkspaceWrite(_) => LimitedCommands::Confined,
        }
    }
}

/// Additional permissions for a command, a turn or a session. They extend an enforced policy by exactly these paths and
/// never disable enforcement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// Network access.
    pub network: bool,
}

/// The context in which a policy is resolved.
#[derive(Debug, Clone)]
pub struct PolicyContext {
    /// The absolute working folder.
    pub cwd: PathBuf,
    /// The temporary folder of commands, see [`temporary_folder`](crate::temporary_folder).
    pub tmpdir: Option<PathBuf>,
    /// Additional permissions.
    pub grants: Grants,
    /// What limits the network to certain hosts, whatever else is allowed.
    pub network_limits: Arc<NetworkLimits>,
    /// Paths that may be neither read nor written, whatever else is allowed.
    pub hidden: Vec<PathBuf>,
    /// Patterns of such paths. They apply to commands without a sandbox too, but for the built-in list.
    pub hidden_files: Arc<HiddenFiles>,
    /// The protected files. The same value for all commands of a session.
    pub engine: Arc<EngineFiles>,
}

impl PolicyContext {
    /// A context with a working folder only.
    #[must_use]
    pub fn in_folder(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            tmpdir: None,
            grants: Grants::default(),
            network_limits: Arc::default(),
            hidden: Vec::new(),
            hidden_files: Arc::default(),
            engine: Arc::default(),
        }
    }
}
