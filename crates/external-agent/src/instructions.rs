//! Imports the file with instructions.

use std::io;
use std::path::{Path, PathBuf};

use crate::files::{Imported, read_existing, replace_file};
use crate::renaming::rename;

/// The first of the agent's files that has any text, unless our file already has some.
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

pub(crate) fn import(theirs: &[PathBuf], ours: &Path) -> io::Result<Vec<Imported>> {
    if let Some(path) = source(theirs, ours)?
        && let Some(text) = read_existing(path)?
    {
        replace_file(ours, &rename(&text))?;
        return Ok(vec![Imported::file(path, ours)]);
    }
    Ok(Vec::new())
}
