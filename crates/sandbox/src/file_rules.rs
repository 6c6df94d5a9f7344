//! An enforced policy as paths: readable, writable, protected and hidden ones.

use std::path::{Path, PathBuf};

use crate::platform::comparable;

/// What commands may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadScope {
    /// Everything.
    Everything,
    /// Only paths inside these folders.
    Only(Vec<PathBuf>),
}

/// What to do about a protected path that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenAbsent {
    /// Commands may create it. For shared folders such as `/tmp`.
    Ignore,
    /// Commands may not create it. An empty folder is placed there while commands run, which other programs see too.
    KeepAbsent,
}

/// A path inside a writable root that commands may not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedPath {
    /// The path; its last component may be a link.
    pub path: PathBuf,
    /// What to do if it does not exist.
    pub when_absent: WhenAbsent,
}

/// An enforced policy as paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRules {
    pub read: ReadScope,
    /// Writable folders and files.
    pub writable: Vec<PathBuf>,
    /// Exceptions from `writable`.
    pub protected: Vec<ProtectedPath>,
    /// Paths that may be neither read nor written.
    pub hidden: Vec<PathBuf>,
    /// Like `hidden`, but only if mounts are available; otherwise the rest of the policy is enforced without them.
    pub masked: Vec<PathBuf>,
    /// Requested roots, as written, that are not writable because a command may have created a link on their path.
    pub untrusted: Vec<PathBuf>,
}

impl FileRules {
    /// The rules of a command whose network is limited, and nothing else.
    pub(crate) fn everything() -> Self {
        Self {
            read: ReadScope::Everything,
            writable: vec![PathBuf::from(std::path::MAIN_SEPARATOR_STR)],
            protected: Vec::new(),
            hidden: Vec::new(),
            masked: Vec::new(),
            untrusted: Vec::new(),
        }
    }

    /// Paths that may be neither read nor written, if mounts are available.
    pub(crate) fn invisible(&self) -> impl Iterator<Item = &Path> {
        let paths = self.hidden.iter().chain(&self.masked);
        paths.map(PathBuf::as_path)
    }

    /// Whether a path is hidden.
    #[must_use]
    pub fn hides(&self, path: &Path) -> bool {
        let path = comparable(path);
        self.invisible()
            .any(|hidden| path.starts_with(comparable(hidden)))
    }

    /// Whether a write to `path` is allowed. `path` must be absolute with links resolved (for a new file: those of its
    /// folder). The most specific entry applies.
    #[must_use]
    pub fn may_write(&self, path: &Path) -> bool {
        let path = comparable(path);
        let depth = |entry: &Path| entry.components().count();
        let deepest = |entries: &mut dyn Iterator<Item = &Path>| {
            entries
                .filter(|entry| path.starts_with(comparable(entry)))
                .map(depth)
                .max()
        };
        let root = deepest(&mut self.writable.iter().map(PathBuf::as_path));
        let refused = deepest(
            &mut (self.protected.iter().map(|entry| entry.path.as_path())).chain(self.invisible()),
        );
        root.is_some() && root >= refused
    }
}
