//! Writing a whole file, and making folders.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use crate::error::FileError;
use crate::read::open_regular;

/// Replaces what a file holds, or makes it. Links are followed; parents are not made.
///
/// # Errors
/// The file cannot be written, or is a pipe or a device.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    open_regular(&mut options, path)?.write_all(bytes)?;
    Ok(())
}

/// Makes a folder; `recursive` makes its parents too and accepts one that exists.
///
/// # Errors
/// It cannot be made.
pub fn create_folder(path: &Path, recursive: bool) -> Result<(), FileError> {
    if recursive {
        std::fs::create_dir_all(path)?;
    } else {
        std::fs::create_dir(path)?;
    }
    Ok(())
}
