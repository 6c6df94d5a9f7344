//! Why going back fails.

use std::io;
use std::path::PathBuf;

/// Why nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error("checkpoint not found: {0}")]
    NoCheckpoint(String),
    #[error("the checkpoint {0} is not a later one")]
    NotLater(String),
    #[error("another restore is under way")]
    Busy,
    #[error("cannot restore {}: {error}; no file is changed", .path.display())]
    Failed { path: PathBuf, error: io::Error },
    #[error(
        "cannot restore {}: {error}; these files are not as they were before: {}",
        .path.display(),
        .left.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    HalfDone {
        path: PathBuf,
        error: io::Error,
        left: Vec<PathBuf>,
    },
    #[error("the checkpoints cannot be read or written: {0}")]
    Store(#[source] io::Error),
}

impl From<io::Error> for RestoreError {
    fn from(error: io::Error) -> Self {
        Self::Store(error)
    }
}
