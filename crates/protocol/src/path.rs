//! Paths by their text alone.

use std::path::{Component, Path, PathBuf};

/// Takes `.` and `..` out of a path by text alone.
#[must_use]
pub fn normalize_path(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !matches!(
                    result.components().next_back(),
                    Some(Component::RootDir | Component::Prefix(_))
                ) && !result.pop()
                {
                    result.push("..");
                }
            }
            other => result.push(other),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_resolved() {
        for (path, expected) in [
            ("/a/./b/../c/", "/a/c"),
            ("/../..", "/"),
            ("a/../../b", "../b"),
        ] {
            assert_eq!(
                normalize_path(Path::new(path)),
                Path::new(expected),
                "{path}"
            );
        }
    }
}
