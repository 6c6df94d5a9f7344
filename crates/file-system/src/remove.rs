//! Removes a path, without following links.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::FileError;

/// Removes a file, a link or a folder. `recursive` removes the content of a folder too; `force` accepts a missing path.
///
/// # Errors
/// The path cannot be removed.
pub fn remove(path: &Path, recursive: bool, force: bool) -> Result<(), FileError> {
    if path.parent().is_none() {
        return Err(FileError::Root);
    }
    match remove_existing(path, recursive) {
        Err(error) if force && error.kind() == ErrorKind::NotFound => Ok(()),
        done => Ok(done?),
    }
}

fn remove_existing(path: &Path, recursive: bool) -> std::io::Result<()> {
    if !codex_mounts::symlink_metadata(path)?.is_dir() {
        fs::remove_file(path)
    } else if recursive {
        codex_mounts::remove_dir_all(path)
    } else {
        fs::remove_dir(path)
    }
}
