//! Copies files, links and folders.
//!
//! A link is copied as a link. Holes of sparse files stay holes. Inside a folder, anything that is not a file, folder or
//! link is skipped.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use codex_system::link::{self, are_same_files, are_same_links};
use codex_system::{copying, file};

use crate::error::FileError;

/// Copies `source` to the exact path `destination`: a file is replaced, a folder is merged. Folders need `recursive`.
///
/// # Errors
/// The copy failed. A folder may have been copied in part.
pub fn copy(source: &Path, destination: &Path, recursive: bool) -> Result<(), FileError> {
    let found = codex_mounts::symlink_metadata(source)?;
    if found.is_dir() {
        if !recursive {
            return Err(FileError::NeedsRecursive);
        }
        return copy_folder(source, destination);
    }
    if !copy_leaf(&found, source, destination)? {
        return Err(FileError::NotCopied);
    }
    Ok(())
}

fn copy_folder(source: &Path, destination: &Path) -> Result<(), FileError> {
    if is_within(destination, source)? {
        return Err(FileError::IntoItself);
    }
    let mut left = vec![(source.to_path_buf(), destination.to_path_buf())];
    while let Some((from, to)) = left.pop() {
        make_folder(&codex_mounts::metadata(&from)?, &to)?;
        for entry in codex_mounts::read_dir(&from)? {
            let entry = entry?;
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            let found = codex_mounts::symlink_metadata(&from)?;
            if found.is_dir() {
                left.push((from, to));
            } else {
                copy_leaf(&found, &from, &to)?;
            }
        }
    }
    Ok(())
}

/// Whether `path`, which need not exist, is inside `folder` or equal to it, with links resolved.
fn is_within(path: &Path, folder: &Path) -> io::Result<bool> {
    let folder = codex_mounts::canonicalize(folder)?;
    let mut rest = Vec::new();
    let mut at = path;
    let existing = loop {
        match codex_mounts::canonicalize(at) {
            Ok(existing) => break existing,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            return Ok(false);
        };
        rest.push(name);
        at = parent;
    };
    let whole: PathBuf = std::iter::once(existing.as_os_str())
        .chain(rest.into_iter().rev())
        .collect();
    Ok(whole.starts_with(folder))
}

/// Creates a folder with the mode of the original, but writable for the owner.
fn make_folder(like: &Metadata, path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    match file::folder_like(&mut builder, like).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        done => done,
    }
}

/// Copies a file or a link. Returns false for anything else.
fn copy_leaf(found: &Metadata, source: &Path, destination: &Path) -> Result<bool, FileError> {
    if found.is_symlink() {
        copy_link(found, source, destination)?;
    } else if found.is_file() {
        copy_file(source, destination)?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

fn copy_link(found: &Metadata, source: &Path, destination: &Path) -> Result<(), FileError> {
    if let Ok(existing) = codex_mounts::symlink_metadata(destination) {
        if existing.is_dir() {
            return Err(file::is_a_directory().into());
        }
        if are_same_links((source, found), (destination, &existing)) {
            return Err(FileError::SameFile);
        }
        fs::remove_file(destination)?;
    }
    link::copy(source, destination)?;
    Ok(())
}

fn copy_file(source: &Path, destination: &Path) -> Result<(), FileError> {
    let mut from = codex_regular_file::open(source)?;
    let found = from.metadata()?;
    if let Ok(existing) = codex_mounts::metadata(destination)
        && are_same_files((source, &found), (destination, &existing))
    {
        return Err(FileError::SameFile);
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut to = codex_regular_file::open_with(file::like(&mut options, &found), destination)?;
    copying::copy_content(&mut from, &mut to, found.len())?;
    to.set_permissions(found.permissions())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_not_copied_onto_itself() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "content").unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        let linked = folder.path().join("linked");
        fs::hard_link(&file, &linked).unwrap();
        for destination in [file.clone(), folder.path().join("sub/../file"), linked] {
            let outcome = copy(&file, &destination, false);
            assert!(matches!(outcome, Err(FileError::SameFile)), "{outcome:?}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "content");
        copy(&file, &folder.path().join("other"), false).unwrap();
    }
}
