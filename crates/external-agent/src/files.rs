//! Reads and replaces files.

use std::io::{self, Write as _};
use std::path::Path;

/// A longer file is an error.
const FILE_LIMIT: u64 = 8 * 1024 * 1024;

/// Something that was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Where it was: a path, or the name of a skill.
    pub source: String,
    /// Where it is now.
    pub target: String,
}

impl Imported {
    pub(crate) fn file(from: &Path, to: &Path) -> Self {
        let shown = |path: &Path| path.display().to_string();
        Self {
            source: shown(from),
            target: shown(to),
        }
    }
}

/// Replaces a file atomically, or creates it with its parent folders.
pub(crate) fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    // Follows links, so that a link stays a link.
    let path = codex_mounts::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(before) = path.metadata() {
        file.as_file().set_permissions(before.permissions())?;
    }
    file.persist(path)?;
    Ok(())
}

/// Reads a file. `None` if it does not exist.
pub(crate) fn read_existing(path: &Path) -> io::Result<Option<String>> {
    match codex_regular_file::read_text(path, FILE_LIMIT) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
