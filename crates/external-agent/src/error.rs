//! Errors of imports.

use std::io;

/// Why an import failed.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Files(#[from] io::Error),
    /// The agent's settings are not JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The agent's settings are not an object.
    #[error("external agent settings root must be an object")]
    NoTable,
    /// Our settings cannot be read.
    #[error("invalid existing config.toml: {0}")]
    Ours(String),
    /// The user's home folder is not known.
    #[error("the home folder of the user is not known")]
    NoHome,
}
