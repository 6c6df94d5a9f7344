//! Errors of file operations.

use std::io;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// An operating system error.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The file is larger than the limit.
    #[error("file is too large to read: limit is {limit} bytes")]
    TooLarge { limit: u64 },
    /// A folder is copied only on explicit request.
    #[error("a folder can only be copied with `recursive`")]
    NeedsRecursive,
    /// The copy would contain itself.
    #[error("a folder cannot be copied into itself")]
    IntoItself,
    /// Source and destination are the same file.
    #[error("source and destination are the same file")]
    SameFile,
    /// Pipes, sockets and devices cannot be copied.
    #[error("only regular files, folders and links can be copied")]
    NotCopied,
    /// The root of the file system is never removed.
    #[error("the root of the file system cannot be removed")]
    Root,
}

impl FileError {
    /// Whether the error is in the request itself.
    #[must_use]
    pub fn is_invalid_input(&self) -> bool {
        match self {
            Self::System(error) => error.kind() == io::ErrorKind::InvalidInput,
            _ => true,
        }
    }
}
