//! Normalizes paths from clients.

use std::path::{Component, Path, PathBuf};

/// The path with `.` and `..` resolved lexically. None if it is not absolute.
#[must_use]
pub fn absolute(path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    if !path.is_absolute() {
        return None;
    }
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // The parent of the root is the root.
            Component::ParentDir => {
                resolved.pop();
            }
            other => resolved.push(other),
        }
    }
    Some(resolved)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn dots_are_resolved_by_the_text() {
        for (path, expected) in [
            ("/a/./b/../c", Some("/a/c")),
            ("/../..", Some("/")),
            ("/a//b/", Some("/a/b")),
            ("a", None),
            ("~/a", None),
            ("", None),
        ] {
            assert_eq!(absolute(path), expected.map(PathBuf::from), "{path}");
        }
    }
}
