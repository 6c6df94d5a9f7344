//! The real path behind a path: links followed as the system would follow them, also where the end does not exist yet.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::files::{Entry, Files};

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// Whether a link at the very end of a path is meant itself, or what it points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    Follow,
    Keep,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// Absolute, without links (but see [`LastLink::Keep`]) and without `.` or `..`.
    pub(crate) path: PathBuf,
    /// Folders on the way that would have to be made, outermost first. A folder that is left again by `..` counts too.
    pub(crate) missing_folders: Vec<PathBuf>,
}

/// Follows the absolute `path` through `files`.
pub(crate) fn resolve(files: &dyn Files, path: &Path, last_link: LastLink) -> io::Result<Resolved> {
    let mut real = PathBuf::new();
    let mut missing_folders = Vec::new();
    let mut links = 0;
    // The parts still to walk, next one last.
    let mut ahead = parts(path);
    while let Some(part) = ahead.pop() {
        let name = match part {
            Part::Root(root) => {
                real = root;
                continue;
            }
            Part::Up => {
                real.pop();
                continue;
            }
            Part::Name(name) => name,
        };
        real.push(name);
        let last = ahead.is_empty();
        if last && last_link == LastLink::Keep {
            break;
        }
        match files.entry(&real)? {
            Entry::Link(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::other("too many levels of symbolic links"));
                }
                real.pop();
                ahead.extend(parts(&target));
            }
            Entry::Folder => {}
            Entry::Missing | Entry::File | Entry::Other if last => {}
            // What stands in the way of a folder is reported when the folder is to be made.
            Entry::Missing | Entry::File | Entry::Other => {
                if !missing_folders.contains(&real) {
                    missing_folders.push(real.clone());
                }
            }
        }
    }
    Ok(Resolved {
        path: real,
        missing_folders,
    })
}

enum Part {
    Root(PathBuf),
    Up,
    Name(OsString),
}

/// The parts of a path in reverse.
fn parts(path: &Path) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for component in path.components() {
        match component {
            Component::Prefix(prefix) => parts.push(Part::Root(PathBuf::from(prefix.as_os_str()))),
            Component::RootDir => match parts.pop() {
                Some(Part::Root(mut root)) => {
                    root.push(Component::RootDir);
                    parts.push(Part::Root(root));
                }
                _ => parts.push(Part::Root(PathBuf::from(Component::RootDir.as_os_str()))),
            },
            Component::CurDir => {}
            Component::ParentDir => parts.push(Part::Up),
            Component::Normal(name) => parts.push(Part::Name(name.to_owned())),
        }
    }
    parts.reverse();
    parts
}
