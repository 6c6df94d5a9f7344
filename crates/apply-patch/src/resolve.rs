//! Resolves links in a path as the system does, even if the end of the path does not exist.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::files::{FileAccess, FileEntry};

/// Linux's limit on links in one path.
const MAX_LINKS: usize = 40;

/// Whether a link in the last component is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    Follow,
    Keep,
}

/// A resolved path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedPath {
    /// Absolute, without `.`, `..` and links (except for [`LastLink::Keep`]).
    pub(crate) path: PathBuf,
    /// Folders that do not exist yet, parents first. Includes folders that a later `..` leaves.
    pub(crate) missing_folders: Vec<PathBuf>,
}

/// Resolves the absolute `path` through `files`.
pub(crate) fn resolve(
    files: &dyn FileAccess,
    path: &Path,
    last_link: LastLink,
) -> io::Result<ResolvedPath> {
    let mut real = PathBuf::new();
    let mut missing_folders = Vec::new();
    let mut links = 0;
    // The remaining components, the next one last.
    let mut ahead = parts(path);
    while let Some(part) = ahead.pop() {
        let name = match part {
            PathPart::Root(root) => {
                real = root;
                continue;
            }
            PathPart::Up => {
                real.pop();
                continue;
            }
            PathPart::Name(name) => name,
        };
        real.push(name);
        let last = ahead.is_empty();
        if last && last_link == LastLink::Keep {
            break;
        }
        match files.entry(&real)? {
            FileEntry::Link(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::other("too many levels of symbolic links"));
                }
                real.pop();
                ahead.extend(parts(&target));
            }
            FileEntry::Folder => {}
            FileEntry::Missing | FileEntry::File | FileEntry::Other if last => {}
            // A file in the place of a folder is reported when the folder is created.
            FileEntry::Missing | FileEntry::File | FileEntry::Other => {
                if !missing_folders.contains(&real) {
                    missing_folders.push(real.clone());
                }
            }
        }
    }
    Ok(ResolvedPath {
        path: real,
        missing_folders,
    })
}

enum PathPart {
    Root(PathBuf),
    Up,
    Name(OsString),
}

/// The components of a path in reverse order.
fn parts(path: &Path) -> Vec<PathPart> {
    let mut parts: Vec<PathPart> = Vec::new();
    for component in path.components() {
        match component {
            Component::Prefix(prefix) => {
                parts.push(PathPart::Root(PathBuf::from(prefix.as_os_str())))
            }
            Component::RootDir => match parts.pop() {
                Some(PathPart::Root(mut root)) => {
                    root.push(Component::RootDir);
                    parts.push(PathPart::Root(root));
                }
                _ => parts.push(PathPart::Root(PathBuf::from(
                    Component::RootDir.as_os_str(),
                ))),
            },
            Component::CurDir => {}
            Component::ParentDir => parts.push(PathPart::Up),
            Component::Normal(name) => parts.push(PathPart::Name(name.to_owned())),
        }
    }
    parts.reverse();
    parts
}
