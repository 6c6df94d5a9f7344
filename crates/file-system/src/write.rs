//! Writes whole files and creates folders.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use crate::error::FileError;

/// Replaces the content of a file, or creates it. Follows links; does not create parents.
///
/// # Errors
/// The file cannot be written, or is a pipe or a device.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    codex_regular_file::open_with(&mut options, path)?.write_all(bytes)?;
    Ok(())
}

/// Creates a folder. `recursive` also creates its parents and accepts an existing folder.
///
/// # Errors
/// The folder cannot be created.
pub fn create_folder(path: &Path, recursive: bool) -> Result<(), FileError> {
    if recursive {
        std::fs::create_dir_all(path)?;
    } else {
        std::fs::create_dir(path)?;
    }
    Ok(())
}
