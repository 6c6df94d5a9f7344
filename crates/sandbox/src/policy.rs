//! What is wanted: the sandbox policies as plain values.
//!
//! These are this crate's own types, so that it depends on nobody's wire format. They say nothing
//! about the machine; the paths they stand for are worked out in `roots`.

use std::path::PathBuf;
use std::sync::Arc;

use crate::engine_files::EngineFiles;

/// Whether commands may use the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// No socket can be made or connected.
    Restricted,
    /// Not limited.
    Enabled,
}

/// What commands may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadAccess {
    /// The whole file system.
    Full,
    /// The listed folders, everything writable, and the working folder.
    Restricted {
        /// Also the folders that programs and libraries live in.
        platform_defaults: bool,
        /// The listed folders.
        roots: Vec<PathBuf>,
    },
}

/// Options of [`Policy::WorkspaceWrite`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceWrite {
    /// Writable folders besides the working folder; relative ones are joined to it.
    pub writable_roots: Vec<PathBuf>,
    /// What may be read.
    pub read: ReadAccess,
    /// Network access.
    pub network: Network,
    /// Whether the folder named by `TMPDIR` is writable.
    pub tmpdir: bool,
    /// Whether `/tmp` is writable.
    pub slash_tmp: bool,
}

impl Default for WorkspaceWrite {
    fn default() -> Self {
        Self {
            writable_roots: Vec::new(),
            read: ReadAccess::Full,
            network: Network::Restricted,
            tmpdir: true,
            slash_tmp: true,
        }
    }
}

/// A sandbox policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// Nothing is limited.
    DangerFullAccess,
    /// Somebody else confines the whole engine; nothing is enforced here.
    External {
        /// What that somebody allows. Only told to commands, not enforced.
        network: Network,
    },
    /// Reading only.
    ReadOnly {
        /// What may be read.
        read: ReadAccess,
        /// Network access.
        network: Network,
    },
    /// Writing in the working folder and a few others.
    WorkspaceWrite(WorkspaceWrite),
}

impl Policy {
    /// Read everything, write nothing, no network.
    #[must_use]
    pub fn read_only() -> Self {
        Self::ReadOnly {
            read: ReadAccess::Full,
            network: Network::Restricted,
        }
    }

    /// The network access that the policy speaks of.
    #[must_use]
    pub fn network(&self) -> Network {
        match self {
            Self::DangerFullAccess => Network::Enabled,
            Self::External { network } | Self::ReadOnly { network, .. } => *network,
            Self::WorkspaceWrite(options) => options.network,
        }
    }

    /// Whether this crate has anything to enforce.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        matches!(self, Self::ReadOnly { .. } | Self::WorkspaceWrite(_))
    }
}

/// Permissions granted on top of a policy, for one command, a turn or a session. They widen an
/// enforced policy by exactly these paths and never turn enforcement off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Readable paths.
    pub read: Vec<PathBuf>,
    /// Writable paths.
    pub write: Vec<PathBuf>,
    /// Network access.
    pub network: bool,
}

/// What a policy is relative to.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The working folder that the policy speaks of (absolute).
    pub cwd: PathBuf,
    /// The value of `TMPDIR`, if set.
    pub tmpdir: Option<PathBuf>,
    /// Extra permissions.
    pub grants: Grants,
    /// Paths that may neither be read nor written, whatever else is allowed.
    pub hidden: Vec<PathBuf>,
    /// What the engine goes by. The same value for all commands of a session.
    pub engine: Arc<EngineFiles>,
}

impl Surroundings {
    /// Only a working folder.
    #[must_use]
    pub fn of(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            tmpdir: None,
            grants: Grants::default(),
            hidden: Vec::new(),
            engine: Arc::default(),
        }
    }
}
