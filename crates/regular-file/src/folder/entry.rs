//! Entries of folders, and what is refused.

use std::ffi::OsString;
use std::io;
use std::time::SystemTime;

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    pub name: OsString,
    pub kind: FolderEntryKind,
    /// The size of a file.
    pub bytes: u64,
    pub modified: Option<SystemTime>,
}

/// What an entry is. Links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderEntryKind {
    File,
    Folder,
    /// A link, a pipe, a device.
    Other,
}

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFile {
    /// Its owner only.
    Private,
    /// Whom the system lets read new files.
    Usual,
}

pub(super) fn is_link(name: &OsString) -> io::Error {
    let message = format!("`{}` is a link, which is not followed here", name.display());
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

pub(super) fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}
