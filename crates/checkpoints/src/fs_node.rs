//! What is at a path, in the same terms on all systems.

use std::ffi::OsStr;
use std::fs::File;
use std::path::PathBuf;

use crate::state::FileStamp;

/// What the names of files begin with that exist only until a file is renamed to its name.
pub(crate) const TEMPORARY_PREFIX: &str = ".codex-restore-";

/// What a file is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub(crate) size: u64,
    pub(crate) mode: u32,
    pub(crate) stamp: FileStamp,
    /// How many names it has.
    pub(crate) links: u64,
    pub(crate) device: u64,
}

/// What is at a path: a node of the file system, a file opened.
#[derive(Debug)]
pub(crate) enum FsNode {
    Missing,
    File(File, FileFacts),
    Link(PathBuf),
    Folder(FileFacts),
    Special,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Link,
    Folder,
    Special,
}

/// An entry of a folder.
#[derive(Debug)]
pub(crate) struct ListedEntry {
    pub(crate) name: Box<OsStr>,
    pub(crate) kind: EntryKind,
    pub(crate) facts: FileFacts,
}
