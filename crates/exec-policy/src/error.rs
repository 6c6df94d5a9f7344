//! What can be wrong with a rule file, and where.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A mistake in a rule file. None of the file's rules are taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct RuleError {
    /// The name that the file was given when it was added.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub message: String,
}

/// A rule file, or its folder, cannot be read.
#[derive(Debug, Error)]
#[error("failed to read {}: {source}", path.display())]
pub struct LoadError {
    pub path: PathBuf,
    pub source: io::Error,
}
