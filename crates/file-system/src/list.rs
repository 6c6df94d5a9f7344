//! What is at a path, and what is in a folder.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::FileError;

/// What is at a path, links followed. Neither folder nor file are devices, pipes and sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Whether it is a regular file.
    pub is_file: bool,
    /// Whether the path itself is a link.
    pub is_link: bool,
    /// When it was made, in milliseconds; 0 if that is not known.
    pub created_ms: i64,
    /// When its content was last changed, in milliseconds; 0 if that is not known.
    pub modified_ms: i64,
}

/// What is at a path, links followed.
///
/// # Errors
/// Nothing is there, or it may not be looked at.
pub fn metadata(path: &Path) -> Result<Metadata, FileError> {
    let found = fs::metadata(path)?;
    Ok(Metadata {
        is_folder: found.is_dir(),
        is_file: found.is_file(),
        is_link: fs::symlink_metadata(path)?.is_symlink(),
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

/// A child of a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name; bytes that are no text are replaced.
    pub name: String,
    /// Whether it is a folder, or a link to one.
    pub is_folder: bool,
    /// Whether it is a regular file, or a link to one.
    pub is_file: bool,
}

/// The children of a folder by their names. A link that leads nowhere is neither folder nor file.
///
/// # Errors
/// There is no such folder, or it may not be read.
pub fn list(path: &Path) -> Result<Vec<Entry>, FileError> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        entries.push(describe(&entry?));
    }
    entries.sort();
    Ok(entries)
}

fn describe(entry: &fs::DirEntry) -> Entry {
    let own = entry.file_type().ok();
    let kind = match own {
        Some(kind) if kind.is_symlink() => fs::metadata(entry.path()).ok().map(|at| at.file_type()),
        other => other,
    };
    Entry {
        name: entry.file_name().to_string_lossy().into_owned(),
        is_folder: kind.is_some_and(|kind| kind.is_dir()),
        is_file: kind.is_some_and(|kind| kind.is_file()),
    }
}
