//! Errors in rules files, with their position.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::prefix::RuleProblem;

/// Why a call of a rule function is invalid.
#[derive(Debug, Error)]
pub(crate) enum CallError {
    #[error(transparent)]
    Rule(#[from] RuleProblem),
    #[error("`{function}` takes at most {limit} arguments")]
    TooManyArguments { function: String, limit: usize },
    #[error("`{function}` has no parameter `{name}`")]
    UnknownParameter { function: String, name: String },
    #[error("parameter `{name}` of `{function}` is given twice")]
    DuplicateParameter { function: String, name: String },
    #[error("missing parameter `{name}` of `{function}`")]
    MissingParameter { function: String, name: String },
    #[error("parameter `{name}` must be of type {wanted}, not {found}")]
    Type {
        name: String,
        wanted: &'static str,
        found: &'static str,
    },
}

/// An error in a rules file. None of the file's rules are used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct RuleError {
    /// The name under which the file was added.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    pub message: String,
}

/// A rules file or its folder cannot be read.
#[derive(Debug, Error)]
#[error("failed to read {}: {source}", path.display())]
pub struct RulesLoadError {
    pub path: PathBuf,
    pub source: io::Error,
}
