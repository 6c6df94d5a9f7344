//! Why something was not done.

use std::io;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system refuses.
    #[error(transparent)]
    System(#[from] io::Error),
    /// More than may be read.
    #[error("file is too large to read: limit is {limit} bytes")]
    TooLarge {
        /// The most that may be read.
        limit: u64,
    },
    /// A pipe, a socket or a device: reading or writing it might never end.
    #[error("not a regular file")]
    NotRegular,
    /// Only a call that says so copies folders.
    #[error("a folder is copied only recursively")]
    NeedsRecursive,
    /// The copy would be copied too, without end.
    #[error("a folder cannot be copied into itself")]
    IntoItself,
    /// Source and destination are one.
    #[error("source and destination are the same file")]
    SameFile,
    /// A pipe, a socket or a device cannot be copied.
    #[error("only regular files, folders and links can be copied")]
    NotCopied,
    /// Nobody means to remove everything.
    #[error("the root of the file system is not removed")]
    Root,
}

impl FileError {
    /// Whether the request itself is at fault.
    #[must_use]
    pub fn is_invalid_input(&self) -> bool {
        match self {
            Self::System(error) => error.kind() == io::ErrorKind::InvalidInput,
            _ => true,
        }
    }
}
