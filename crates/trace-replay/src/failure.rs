//! Why there is no result of a replay.

use std::io;

use codex_core::StartError;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayFailure {
    /// A temporary folder or thread cannot be made.
    #[error("cannot prepare the replay: {0}")]
    Prepare(#[from] io::Error),
    /// The session does not start.
    #[error("cannot start the session: {0}")]
    Start(#[from] StartError),
    /// The changed settings cannot be applied.
    #[error("cannot change the settings: {0}")]
    Settings(#[from] serde_json::Error),
    /// The recording has no such turn.
    #[error("the recording has no end of turn {0}")]
    NoTurn(usize),
}
