//! Errors of this crate.

use std::io;
use std::path::{Path, PathBuf};

/// A folder of bundles, or a bundle, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceFolderError {
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The path is neither a bundle folder nor a packed bundle.
    #[error("{} is not a trace bundle: expected a folder with manifest.json, or a file packed by `codex debug trace pack`", .0.display())]
    NotABundle(PathBuf),
    /// A bundle cannot be read.
    #[error("{}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// A packed bundle is damaged, or is larger than the limits.
    #[error("{} cannot be unpacked: {reason}", path.display())]
    Unpack { path: PathBuf, reason: String },
    /// A packed bundle becomes larger than it may.
    #[error("{} has {} and unpacks to more than {}; if you trust it, allow more with `--max-unpacked-mib`", path.display(), size_of(*.size), size_of(*.room))]
    TooLarge { path: PathBuf, size: u64, room: u64 },
    /// The session of the bundle may still be running.
    #[error("{} is still being recorded; pack it after its session has ended", .0.display())]
    StillRecorded(PathBuf),
    /// The packed file differs from the bundle. The bundle is unchanged.
    #[error("{} changed during packing; nothing was deleted", .0.display())]
    Changed(PathBuf),
    /// The search pattern is invalid.
    #[error("the pattern is invalid: {0}")]
    Pattern(#[from] regex::Error),
}

impl TraceFolderError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    pub(crate) fn unreadable(path: &Path, reason: impl ToString) -> Self {
        Self::Unreadable {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }

    pub(crate) fn unpack(path: &Path, reason: impl ToString) -> Self {
        Self::Unpack {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// A number of bytes, for people.
fn size_of(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        mebibytes => format!("{mebibytes} MiB"),
    }
}
