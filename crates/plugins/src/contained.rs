//! Paths in manifests: relative to the folder of the plugin, and never out of it.

use std::io;
use std::path::{Component, Path, PathBuf};

/// Why a path of a manifest cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidPath {
    #[error("must start with `./`")]
    Start,
    #[error("must not be empty")]
    Empty,
    #[error("must stay within the {0} root")]
    Leaves(&'static str),
}

/// The file or folder at `./…` below `root`, as written. `owner` is the kind of root, for errors.
pub(crate) fn join(
    root: &Path,
    written: &str,
    owner: &'static str,
) -> Result<PathBuf, InvalidPath> {
    let relative = written.strip_prefix("./").ok_or(InvalidPath::Start)?;
    if relative.is_empty() {
        return Err(InvalidPath::Empty);
    }
    // A null byte could not be opened anyway; the error would come later and say less.
    if relative.contains('\0') {
        return Err(InvalidPath::Leaves(owner));
    }
    let mut path = root.to_path_buf();
    for component in Path::new(relative).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(InvalidPath::Leaves(owner));
            }
        }
    }
    if path == root {
        return Err(InvalidPath::Empty);
    }
    Ok(path)
}

/// Checks that a path below `root` exists, and that no link leads out of `root`.
///
/// # Errors
/// It does not exist, or a link leads out of `root`.
pub(crate) fn check(root: &Path, path: &Path) -> io::Result<()> {
    if !has_links(root, path)?
        || codex_mounts::canonicalize(path)?.starts_with(codex_mounts::canonicalize(root)?)
    {
        return Ok(());
    }
    let message = "a link leads out of the folder";
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Whether a part of the path below `root` is a link. Without links nothing else needs to be looked up.
fn has_links(root: &Path, path: &Path) -> io::Result<bool> {
    let Ok(relative) = path.strip_prefix(root) else {
        return Ok(true);
    };
    let mut part = root.to_path_buf();
    for component in relative.components() {
        part.push(component);
        if codex_mounts::symlink_metadata(&part)?.is_symlink() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads a text file inside of `root`. Blocks on the file system only as long as a regular file takes.
///
/// # Errors
/// It is not regular, not UTF-8, longer than `limit`, or links lead out of `root`.
pub(crate) fn read_text(root: &Path, path: &Path, limit: u64) -> io::Result<String> {
    check(root, path)?;
    codex_regular_file::read_text(path, limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        let joined = |path: &str| join(Path::new("/p"), path, "plugin");
        assert_eq!(joined("./a/b").unwrap(), Path::new("/p/a/b"));
        assert_eq!(joined("./a/./b//c").unwrap(), Path::new("/p/a/b/c"));
        for path in ["", ".", "a", "/a", "../a"] {
            assert_eq!(joined(path), Err(InvalidPath::Start), "{path}");
        }
        for path in ["./", "./.", "././"] {
            assert_eq!(joined(path), Err(InvalidPath::Empty), "{path}");
        }
        for path in ["./..", "./a/../b", ".//a", "./a\0b"] {
            assert_eq!(joined(path), Err(InvalidPath::Leaves("plugin")), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_folder_are_not_followed() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("secret"), "s").unwrap();
        std::fs::write(inside.path().join("own"), "o").unwrap();
        let link = |target: &Path, name: &str| {
            std::os::unix::fs::symlink(target, inside.path().join(name)).unwrap();
        };
        link(&outside.path().join("secret"), "out");
        link(&inside.path().join("own"), "in");
        let read = |name: &str| read_text(inside.path(), &inside.path().join(name), 10);
        assert_eq!(read("in").unwrap(), "o");
        assert!(read("out").is_err());
    }
}
