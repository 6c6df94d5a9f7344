//! Paths that need not exist, in forms that can be compared.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The path without `.` and `..`.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

/// The path with links resolved, except in what does not exist.
pub(crate) fn with_real_folders(path: &Path) -> PathBuf {
    for folder in path.ancestors() {
        let Ok(real) = codex_mounts::canonicalize(folder) else {
            continue;
        };
        return match path.strip_prefix(folder) {
            Ok(rest) if rest.as_os_str().is_empty() => real,
            Ok(rest) => real.join(rest),
            Err(_) => real,
        };
    }
    path.to_owned()
}

/// Like [`with_real_folders`] for many paths below a folder that have no `..`: each folder is looked at once.
///
/// The keys are paths as they are written, which are hashed much faster than the components of paths.
pub(crate) struct RealFolders(HashMap<OsString, RealFolder>);

struct RealFolder {
    path: PathBuf,
    exists: bool,
}

impl RealFolders {
    pub(crate) fn below(folder: &Path) -> Self {
        let known = RealFolder {
            path: with_real_folders(folder),
            exists: codex_mounts::symlink_metadata(folder).is_ok(),
        };
        Self(HashMap::from([(folder.as_os_str().to_owned(), known)]))
    }

    pub(crate) fn real(&mut self, path: &Path) -> PathBuf {
        self.look_at(path).path.clone()
    }

    fn look_at(&mut self, path: &Path) -> &RealFolder {
        if !self.0.contains_key(path.as_os_str()) {
            let found = self.find(path);
            self.0.insert(path.as_os_str().to_owned(), found);
        }
        &self.0[path.as_os_str()]
    }

    fn find(&mut self, path: &Path) -> RealFolder {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return RealFolder {
                path: with_real_folders(path),
                exists: true,
            };
        };
        let parent = self.look_at(parent);
        let written = parent.path.join(name);
        let metadata = parent
            .exists
            .then(|| codex_mounts::symlink_metadata(&written));
        match metadata {
            Some(Ok(metadata)) if metadata.is_symlink() => {
                let real = codex_mounts::canonicalize(&written);
                RealFolder {
                    exists: real.is_ok(),
                    path: real.unwrap_or(written),
                }
            }
            metadata => RealFolder {
                exists: matches!(metadata, Some(Ok(_))),
                path: written,
            },
        }
    }
}
