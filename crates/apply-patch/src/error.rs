//! Errors of patches, and their texts.
//!
//! The texts depend on the [`PatchCaller`]: for a tool call they name absolute paths and the stage that failed; for the
//! program they name paths as written.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::seek::SearchLimitExceeded;

/// Who requested the patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchCaller {
    /// A tool call of the model. Deleted files must be readable text, because they are shown to the user.
    Tool,
    /// The `apply_patch` command line.
    Program,
}

/// The text is not a valid patch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    #[error("invalid patch: The first line of the patch must be '*** Begin Patch'")]
    NoBegin,
    #[error("invalid patch: The last line of the patch must be '*** End Patch'")]
    NoEnd,
    #[error("invalid hunk at line {line}, {problem}")]
    Hunk { line: usize, problem: HunkProblem },
}

/// Why a hunk is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HunkProblem {
    #[error(
        "'{0}' is not a valid hunk header. Valid hunk headers: '*** Add File: {{path}}', \
         '*** Delete File: {{path}}', '*** Update File: {{path}}'"
    )]
    Header(String),
    #[error("Update file hunk for path '{0}' is empty")]
    Empty(String),
    #[error("Update hunk does not contain any lines")]
    NoLines,
    #[error(
        "Unexpected line found in update hunk: '{0}'. Every line should start with ' ' (context line), \
         '+' (added line), or '-' (removed line)"
    )]
    BadLine(String),
    #[error("Expected update hunk to start with a @@ context marker, got: '{0}'")]
    NoHeader(String),
}

/// The patch does not fit the files.
#[derive(Debug, Error)]
pub enum VerifyError {
    #[error(transparent)]
    Parse(#[from] ParseError),
    #[error("the patch has no hunks")]
    Empty,
    #[error("{}", problem.text(written))]
    File {
        /// The path as the patch spells it.
        written: String,
        /// The absolute path.
        path: PathBuf,
        problem: FileProblem,
    },
}

/// The plan could not be applied. Nothing on disk has changed except for the files in `not_undone`.
#[derive(Debug, Error)]
#[error("{}{}", problem.text(written), not_undone_text(not_undone))]
pub struct ApplyError {
    /// The path as the patch spells it.
    pub written: String,
    pub problem: FileProblem,
    /// Files that could not be restored: their path, and where the old content is, if it still exists.
    pub not_undone: Vec<(PathBuf, Option<PathBuf>)>,
}

/// An error with one file.
#[derive(Debug)]
pub enum FileProblem {
    /// A file to be deleted cannot be read.
    Read(io::Error),
    /// A file to be updated cannot be read.
    ReadForUpdate(io::Error),
    /// The context after `@@` was not found below the previous match.
    NoContext(String),
    /// The old lines were not found below the previous match.
    NoLines(String),
    /// The search for the lines takes too long.
    SearchLimitExceeded,
    CreateParents(io::Error),
    Write(io::Error),
    Delete(io::Error),
    /// A moved file is written, but the original cannot be removed.
    RemoveOriginal(io::Error),
    /// The file, or a link on its path, has changed since verification.
    Changed,
}

impl From<SearchLimitExceeded> for FileProblem {
    fn from(_: SearchLimitExceeded) -> Self {
        Self::SearchLimitExceeded
    }
}

impl FileProblem {
    fn text(&self, path: &str) -> String {
        match self {
            Self::Read(error) => format!("Failed to read {path}: {error}"),
            Self::ReadForUpdate(error) => format!("Failed to read file to update {path}: {error}"),
            Self::NoContext(context) => format!("Failed to find context '{context}' in {path}"),
            Self::NoLines(lines) => format!("Failed to find expected lines in {path}:\n{lines}"),
            Self::SearchLimitExceeded => {
                format!("Failed to find the lines of {path}: the patch takes too much work")
            }
            Self::CreateParents(error) => {
                format!("Failed to create parent directories for {path}: {error}")
            }
            Self::Write(error) => format!("Failed to write file {path}: {error}"),
            Self::Delete(error) => format!("Failed to delete file {path}: {error}"),
            Self::RemoveOriginal(error) => format!("Failed to remove original {path}: {error}"),
            Self::Changed => {
                format!("Failed to write file {path}: it changed after the patch was checked")
            }
        }
    }
}

impl ParseError {
    fn program_text(&self) -> String {
        match self {
            Self::NoBegin | Self::NoEnd => self.to_string().replacen('i', "I", 1),
            Self::Hunk { line, problem } => format!("Invalid patch hunk on line {line}: {problem}"),
        }
    }
}

impl VerifyError {
    /// The text of the error for this caller.
    pub fn text(&self, caller: PatchCaller) -> String {
        match (caller, self) {
            (PatchCaller::Tool, Self::Empty) => "patch rejected: empty patch".to_owned(),
            (PatchCaller::Tool, Self::Parse(error)) => tool_text(&error.to_string()),
            (PatchCaller::Tool, Self::File { path, problem, .. }) => {
                tool_text(&problem.text(&path.to_string_lossy()))
            }
            (PatchCaller::Program, Self::Empty) => "No files were modified.".to_owned(),
            (PatchCaller::Program, Self::Parse(error)) => error.program_text(),
            (PatchCaller::Program, Self::File { .. }) => self.to_string(),
        }
    }
}

fn tool_text(reason: &str) -> String {
    format!("apply_patch verification failed: {reason}")
}

fn not_undone_text(left: &[(PathBuf, Option<PathBuf>)]) -> String {
    left.iter()
        .map(|(path, kept)| match kept {
            Some(kept) => format!(
                "\nCould not put back {}; its content is in {}",
                path.display(),
                kept.display()
            ),
            None => format!("\nCould not remove {} again", path.display()),
        })
        .collect()
}
