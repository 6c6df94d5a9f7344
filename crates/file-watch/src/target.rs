//! Which folders are observed for a watched path, and which events concern it.

use std::path::{Path, PathBuf};

use crate::observed::{PathChange, WatchInterest};

/// A watched path.
#[derive(Debug)]
pub(crate) struct WatchTarget {
    path: PathBuf,
}

/// What an event means for a watched path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventEffect {
    /// The path to report.
    pub(crate) changed: Option<PathBuf>,
    /// The watched path may have appeared, disappeared or been replaced, so that other folders have
    /// to be observed.
    pub(crate) refresh: bool,
}

impl WatchTarget {
    pub(crate) fn new(path: &Path) -> Self {
        let path = path.to_path_buf();
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn exists(&self) -> bool {
        codex_mounts::symlink_metadata(&self.path).is_ok()
    }

    /// The paths to observe now: the nearest existing parent folder, and the path itself if it exists.
    pub(crate) fn observed_paths(&self) -> Vec<(PathBuf, WatchInterest)> {
        let above = self.path.ancestors().skip(1);
        let nearest = above.filter(|folder| codex_mounts::is_dir(folder)).take(1);
        let nearest = nearest.map(|folder| (folder, WatchInterest::Entries));
        let itself = codex_mounts::exists(&self.path);
        let itself = itself.then_some((self.path.as_path(), WatchInterest::Contents));
        let all = nearest.chain(itself);
        all.map(|(path, interest)| (path.to_path_buf(), interest))
            .collect()
    }

    /// What an event at `path` means.
    pub(crate) fn effect(&self, kind: PathChange, path: &Path) -> EventEffect {
        let is_replaced = kind == PathChange::Replaced;
        if path == self.path {
            // A folder reports its children, and itself only when it comes or goes.
            let reports_itself = is_replaced || !codex_mounts::is_dir(&self.path);
            return EventEffect {
                changed: reports_itself.then(|| path.to_path_buf()),
                refresh: is_replaced,
            };
        }
        if path.parent() == Some(&self.path) {
            return EventEffect {
                changed: Some(path.to_path_buf()),
                refresh: false,
            };
        }
        EventEffect {
            changed: None,
            refresh: is_replaced && self.path.starts_with(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observed_paths_are_existing_ancestors() {
        let folder = tempfile::tempdir().unwrap();
        let (root, parent) = (folder.path().to_path_buf(), folder.path().join("a"));
        let path = parent.join("b");
        let observed = || {
            let observed = WatchTarget::new(&path).observed_paths();
            observed
                .into_iter()
                .map(|(path, _)| path)
                .collect::<Vec<_>>()
        };
        assert_eq!(observed(), [root]);
        std::fs::create_dir(&parent).unwrap();
        assert_eq!(observed(), std::slice::from_ref(&parent));
        std::fs::write(&path, "").unwrap();
        assert_eq!(observed(), [parent, path.clone()]);
    }

    #[test]
    fn only_folders_above_the_path_refresh_it() {
        let target = WatchTarget::new(Path::new("/missing/a/b"));
        let refresh = |path: &str| target.effect(PathChange::Replaced, Path::new(path)).refresh;
        assert!(refresh("/missing"));
        assert!(refresh("/missing/a/b"));
        assert!(!refresh("/a"));
        assert!(!refresh("/missing/a/c"));
    }
}
