//! Which places have to be observed for a path, and what their events mean for it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A watched path.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
}

/// A place to be observed, and which of its events count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) role: Role,
}

/// What a place is to the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The path itself.
    Itself,
    /// The folder it is in.
    Parent,
    /// The nearest folder above that exists, when the one it would be in does not.
    Above,
}

/// What an event means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// What has changed.
    pub(crate) changed: Option<PathBuf>,
    /// The path may have come, gone or been replaced: other places may have to be observed.
    pub(crate) look_again: bool,
}

impl Target {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn exists(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    /// As things are now.
    pub(crate) fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        if let Some(parent) = self.path.parent() {
            let nearest = parent.ancestors().find(|folder| folder.is_dir());
            places.extend(nearest.map(|folder| Place {
                path: folder.to_path_buf(),
                role: if folder == parent {
                    Role::Parent
                } else {
                    Role::Above
                },
            }));
        }
        if self.path.exists() {
            places.push(Place {
                path: self.path.clone(),
                role: Role::Itself,
            });
        }
        places
    }

    /// What an event at a place means; `name` is the child that it is about, if any.
    pub(crate) fn meaning(&self, place: &Place, name: Option<&OsStr>, ends: bool) -> Meaning {
        let itself = || Some(self.path.clone());
        match (&place.role, name) {
            (Role::Itself, Some(name)) => Meaning {
                changed: Some(self.path.join(name)),
                look_again: false,
            },
            // A folder's own attributes are nobody's child.
            (Role::Itself, None) => Meaning {
                changed: (ends || !self.path.is_dir()).then(itself).flatten(),
                look_again: ends,
            },
            (Role::Parent, Some(name)) if self.path.file_name() == Some(name) => Meaning {
                changed: itself(),
                look_again: true,
            },
            (Role::Parent, Some(_)) => Meaning::default(),
            (Role::Above, Some(name)) => {
                let next = self.path.strip_prefix(&place.path).ok();
                let next = next.and_then(|rest| rest.components().next());
                Meaning {
                    changed: None,
                    look_again: next.is_some_and(|next| next.as_os_str() == name),
                }
            }
            (Role::Parent | Role::Above, None) => Meaning {
                changed: None,
                look_again: ends,
            },
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_what_exists() {
        let folder = tempfile::tempdir().unwrap();
        let roles = |path: &Path| -> Vec<_> {
            let places = Target::new(path).places();
            places.into_iter().map(|place| place.role).collect()
        };
        let path = folder.path().join("a/b");
        assert_eq!(roles(&path), [Role::Above]);
        std::fs::create_dir(folder.path().join("a")).unwrap();
        assert_eq!(roles(&path), [Role::Parent]);
        std::fs::write(&path, "").unwrap();
        assert_eq!(roles(&path), [Role::Parent, Role::Itself]);
    }

    #[test]
    fn only_the_next_folder_on_the_way_matters() {
        let target = Target::new(Path::new("/no-such/a/b"));
        let place = Place {
            path: "/".into(),
            role: Role::Above,
        };
        let meaning = |name: &str| target.meaning(&place, Some(OsStr::new(name)), false);
        assert!(meaning("no-such").look_again);
        assert!(!meaning("a").look_again);
    }
}
