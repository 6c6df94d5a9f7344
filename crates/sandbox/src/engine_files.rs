//! What the engine itself goes by, and a confined command must not decide.

use std::path::{Path, PathBuf};

use crate::bindings::BoundPaths;

/// Files in the home folder that hold credentials.
const SECRETS: [&str; 2] = ["auth.json", ".credentials.json"];

/// Folders of the home folder from which settings, rules or history are taken. They are not writable
/// even if a root names them or what is in them.
const DECIDING_FOLDERS: [&str; 6] = [
    "agents",
    "archived_sessions",
    "hooks",
    "plugins",
    "rules",
    "sessions",
];

/// What a session goes by, for as long as it lives.
#[derive(Debug, Default)]
pub struct EngineFiles {
    /// The engine's home folder: read-only whatever a root says, but for folders deeper inside that a
    /// root names.
    pub home: Option<PathBuf>,
    /// Projects whose settings take effect. What holds them is protected wherever the project lies in
    /// a writable root.
    pub trusted_projects: Vec<PathBuf>,
    /// Sockets of services that would do for a command what it may not do itself, and folders of
    /// such. Hidden where commands may use the network and mounts can hide them.
    pub service_sockets: Vec<PathBuf>,
    /// What the writable roots of the session were bound to.
    pub bound: BoundPaths,
}

impl EngineFiles {
    /// Of an engine with this home folder.
    #[must_use]
    pub fn of_home(home: impl Into<PathBuf>) -> Self {
        Self {
            home: Some(home.into()),
            ..Self::default()
        }
    }

    /// The same for another session, which binds its own paths.
    #[must_use]
    pub fn for_another_session(&self) -> Self {
        Self {
            home: self.home.clone(),
            trusted_projects: self.trusted_projects.clone(),
            service_sockets: self.service_sockets.clone(),
            bound: BoundPaths::default(),
        }
    }

    /// The home folder with its links resolved.
    pub(crate) fn real_home(&self) -> Option<PathBuf> {
        self.home.as_ref()?.canonicalize().ok()
    }

    /// The credentials that exist.
    pub(crate) fn secrets(&self) -> Vec<PathBuf> {
        let home = self.home.iter();
        home.flat_map(|home| SECRETS.map(|name| home.join(name)))
            .filter_map(|path| path.canonicalize().ok())
            .collect()
    }
}

/// Whether a root at `path` would give away what decides for the engine with this home folder.
pub(crate) fn decides(home: &Path, path: &Path) -> bool {
    path == home
        || DECIDING_FOLDERS
            .iter()
            .any(|name| path.starts_with(home.join(name)))
}
