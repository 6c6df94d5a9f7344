//! Instructions: one file.

use std::io;
use std::path::{Path, PathBuf};

use crate::renaming::rename;
use crate::{read_existing, write_whole};

/// The file with instructions, if we have none.
pub(crate) fn source<'a>(theirs: &'a [PathBuf], ours: &Path) -> io::Result<Option<&'a Path>> {
    if has_text(ours)? {
        return Ok(None);
    }
    for path in theirs {
        if has_text(path)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

fn has_text(path: &Path) -> io::Result<bool> {
    let text = read_existing(path)?;
    Ok(text.is_some_and(|text| !text.trim().is_empty()))
}

pub(crate) fn take_over(theirs: &[PathBuf], ours: &Path) -> io::Result<()> {
    if let Some(path) = source(theirs, ours)?
        && let Some(text) = read_existing(path)?
    {
        write_whole(ours, &rename(&text))?;
    }
    Ok(())
}
