//! Why folders are not prepared.

/// Why there is nothing to prepare, or why it failed.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// Other systems need no preparation.
    #[error("is only supported on Windows")]
    OtherSystem,
    /// Commands would not be confined.
    #[error(
        "is not possible: a trial has shown that this system does not enforce restricted tokens"
    )]
    NotEnforced,
    /// The access list of a folder cannot be changed.
    #[error("has failed: {0}")]
    AccessList(String),
}
