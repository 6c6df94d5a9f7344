//! The error of a file system that does not answer.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// How long a file system may take to answer.
pub const LIMIT: Duration = Duration::from_secs(2);

/// The file system of a path does not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} does not answer: the file system that it is on is dead or very slow", .0.display())]
pub struct NoAnswer(pub(crate) PathBuf);

impl From<NoAnswer> for io::Error {
    fn from(error: NoAnswer) -> Self {
        Self::new(io::ErrorKind::TimedOut, error)
    }
}

/// Whether an error is that of a file system that does not answer.
#[must_use]
pub fn is_no_answer(error: &io::Error) -> bool {
    (error.get_ref()).is_some_and(|inner| inner.is::<NoAnswer>())
}
