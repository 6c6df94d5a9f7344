//! Which folders are observed for a watched path, and which events concern it.

use std::path::{Path, PathBuf};

use notify::EventKind;
use notify::event::{AccessKind, AccessMode, ModifyKind};

/// A watched path.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
}

/// What an event means for a watched path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    /// The path to report.
    pub(crate) changed: Option<PathBuf>,
    /// The watched path may have appeared, disappeared or been replaced, so that other folders have
    /// to be observed.
    pub(crate) refresh: bool,
}

impl Target {
    pub(crate) fn new(path: &Path) -> Self {
        let path = path.to_path_buf();
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn exists(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    /// What has to be observed at present: the nearest folder above that exists, and the path itself
    /// if it does.
    pub(crate) fn observed_paths(&self) -> Vec<PathBuf> {
        let above = self.path.ancestors().skip(1);
        let nearest = above.filter(|folder| folder.is_dir()).take(1);
        let itself = self.path.exists().then_some(self.path.as_path());
        nearest.chain(itself).map(Path::to_path_buf).collect()
    }

    /// What an event at `path` means.
    pub(crate) fn effect(&self, kind: EventKind, path: &Path) -> Effect {
        if !is_change(kind) {
            return Effect::default();
        }
        if path == self.path {
            return Effect {
                changed: self.reports_itself(kind).then(|| path.to_path_buf()),
                refresh: may_replace(kind),
            };
        }
        if path.parent() == Some(&self.path) {
            return Effect {
                changed: Some(path.to_path_buf()),
                refresh: false,
            };
        }
        Effect {
            changed: None,
            refresh: may_replace(kind) && self.path.starts_with(path),
        }
    }

    /// A folder reports its children, and itself only when it comes or goes.
    fn reports_itself(&self, kind: EventKind) -> bool {
        may_replace(kind) || !self.path.is_dir()
    }
}

fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

/// Whether another file may stand at the path than before.
fn may_replace(kind: EventKind) -> bool {
    !matches!(
        kind,
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_))
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use notify::event::CreateKind;

    use super::*;

    #[test]
    fn observed_paths_follow_what_exists() {
        let folder = tempfile::tempdir().unwrap();
        let (root, parent) = (folder.path().to_path_buf(), folder.path().join("a"));
        let path = parent.join("b");
        let observed = || Target::new(&path).observed_paths();
        assert_eq!(observed(), [root]);
        std::fs::create_dir(&parent).unwrap();
        assert_eq!(observed(), std::slice::from_ref(&parent));
        std::fs::write(&path, "").unwrap();
        assert_eq!(observed(), [parent, path.clone()]);
    }

    #[test]
    fn only_folders_above_the_path_refresh_it() {
        let target = Target::new(Path::new("/missing/a/b"));
        let created = EventKind::Create(CreateKind::Folder);
        let refresh = |path: &str| target.effect(created, Path::new(path)).refresh;
        assert!(refresh("/missing"));
        assert!(refresh("/missing/a/b"));
        assert!(!refresh("/a"));
        assert!(!refresh("/missing/a/c"));
    }

    #[test]
    fn reading_changes_nothing() {
        let target = Target::new(Path::new("/missing/a"));
        let opened = EventKind::Access(AccessKind::Open(AccessMode::Any));
        let effect = target.effect(opened, Path::new("/missing/a"));
        assert_eq!(effect, Effect::default());
    }
}
