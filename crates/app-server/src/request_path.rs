//! The path in a request.

use std::path::PathBuf;

use codex_file_system as files;

use crate::failure::Failure;

/// The path of a request. A relative path fails with the error of an unreadable file.
pub(crate) fn absolute(path: impl AsRef<str>) -> Result<PathBuf, Failure> {
    files::absolute(path.as_ref()).ok_or_else(|| {
        Failure::invalid("Invalid request: AbsolutePathBuf deserialized without a base path")
    })
}
