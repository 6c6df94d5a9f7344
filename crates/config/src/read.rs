//! Reads files with a size limit.

use std::io;
use std::path::Path;

/// Limit on the size of a settings file.
const MAX_BYTES: u64 = 8 << 20;

/// The text of a file; `None` if it does not exist.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Option<String>> {
    match codex_regular_file::read_text(path, MAX_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
