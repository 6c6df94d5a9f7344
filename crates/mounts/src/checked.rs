//! Functions of the standard library for paths that may be on a dead file system, where they fail instead of waiting for ever.

use std::fs::{self, Metadata, ReadDir};
use std::io;
use std::path::{Path, PathBuf};

use super::{answers, check, check_below, platform};

/// Like [`std::fs::canonicalize`], without prefixes that programs on Windows do not expect.
///
/// # Errors
/// The path does not answer, does not exist, or cannot be resolved.
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    check(path.as_ref())?;
    dunce::canonicalize(path)
}

/// Like [`std::fs::metadata`].
///
/// # Errors
/// The path does not answer, or its metadata cannot be read.
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    check(path.as_ref())?;
    fs::metadata(path)
}

/// Like [`std::fs::symlink_metadata`].
///
/// # Errors
/// The path does not answer, or its metadata cannot be read.
pub fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    platform::check_link(path.as_ref())?;
    fs::symlink_metadata(path)
}

/// Like [`std::fs::read_link`].
///
/// # Errors
/// The path does not answer, or is no link that can be read.
pub fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    platform::check_link(path.as_ref())?;
    fs::read_link(path)
}

/// Like [`std::fs::read_dir`]. The types of the entries are safe to ask for, their metadata is not.
///
/// # Errors
/// The path does not answer, or cannot be read.
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    check(path.as_ref())?;
    fs::read_dir(path)
}

/// Like [`std::fs::remove_dir_all`].
///
/// # Errors
/// The folder or something below it does not answer, or cannot be removed.
pub fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    check_below(path.as_ref())?;
    fs::remove_dir_all(path)
}

/// Like [`Path::exists`]. What does not answer does not count as existing.
#[must_use]
pub fn exists(path: impl AsRef<Path>) -> bool {
    answers(path.as_ref()) && path.as_ref().exists()
}

/// Like [`Path::is_dir`].
#[must_use]
pub fn is_dir(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok_and(|found| found.is_dir())
}

/// Like [`Path::is_file`].
#[must_use]
pub fn is_file(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok_and(|found| found.is_file())
}
