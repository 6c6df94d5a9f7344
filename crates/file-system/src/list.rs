//! Metadata of a path, and the entries of a folder.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::FileError;

/// The metadata of a path, with links followed. Devices, pipes and sockets are neither folder nor file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMetadata {
    pub is_folder: bool,
    pub is_file: bool,
    pub is_link: bool,
    /// The time of creation in milliseconds; 0 if unknown.
    pub created_ms: i64,
    /// The time of the last change in milliseconds; 0 if unknown.
    pub modified_ms: i64,
}

/// Reads the metadata of a path, with links followed.
///
/// # Errors
/// The path does not exist or may not be accessed.
pub fn metadata(path: &Path) -> Result<PathMetadata, FileError> {
    let found = codex_mounts::metadata(path)?;
    Ok(PathMetadata {
        is_folder: found.is_dir(),
        is_file: found.is_file(),
        is_link: codex_mounts::symlink_metadata(path)?.is_symlink(),
        created_ms: milliseconds(found.created()),
        modified_ms: milliseconds(found.modified()),
    })
}

fn milliseconds(time: std::io::Result<SystemTime>) -> i64 {
    let since = time.ok().map(|time| time.duration_since(UNIX_EPOCH));
    match since {
        Some(Ok(since)) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Some(Err(before)) => {
            i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms)
        }
        None => 0,
    }
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderEntry {
    /// Bytes that are not UTF-8 are replaced.
    pub name: String,
    /// Whether it is a folder or a link to one.
    pub is_folder: bool,
    /// Whether it is a regular file or a link to one.
    pub is_file: bool,
}

/// The entries of a folder, sorted by name. A broken link is neither folder nor file.
///
/// # Errors
/// The folder does not exist or may not be read.
pub fn list(path: &Path) -> Result<Vec<FolderEntry>, FileError> {
    let mut entries = Vec::new();
    for entry in codex_mounts::read_dir(path)? {
        entries.push(describe(&entry?));
    }
    entries.sort();
    Ok(entries)
}

fn describe(entry: &fs::DirEntry) -> FolderEntry {
    let own = entry.file_type().ok();
    let kind = match own {
        Some(kind) if kind.is_symlink() => codex_mounts::metadata(entry.path())
            .ok()
            .map(|at| at.file_type()),
        other => other,
    };
    FolderEntry {
        name: entry.file_name().to_string_lossy().into_owned(),
        is_folder: kind.is_some_and(|kind| kind.is_dir()),
        is_file: kind.is_some_and(|kind| kind.is_file()),
    }
}
