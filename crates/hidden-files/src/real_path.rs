//! Paths that need not exist, in forms that can be compared.

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
