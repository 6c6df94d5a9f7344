//! The states of connections, and why something was not done on a machine.

/// The state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineState {
    /// There is none yet, or it is being opened.
    Pending,
    Ready,
    /// It was lost or could not be opened, for this reason.
    Disconnected(String),
}

/// Why something was not done on a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// There is no connection, or it was lost.
    #[error("{0}")]
    Unreachable(String),
    /// The exec server refused.
    #[error("{message}")]
    Refused {
        code: i64,
        message: String,
        /// What kind of failure it was, for programs.
        kind: Option<String>,
    },
    #[error("the exec server sent an unreadable reply: {0}")]
    Unreadable(String),
    /// The command was not confined, though that was asked for.
    #[error(
        "the other machine does not confine commands, or did not say so: this one was started there, and ended"
    )]
    Unconfined,
    /// The connection was lost that had what the request is about.
    #[error("the connection was lost meanwhile")]
    Interrupted,
}

impl MachineError {
    /// Whether there is nothing at the path.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.has_code(crate::wire::code::NOT_FOUND)
    }

    pub(crate) fn has_code(&self, wanted: i64) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == wanted)
    }
}

/// What is said in place of how a command is confined, if only that it was started is known.
pub(crate) const CONFIRMED_TEXT: &str = "confirmed";

/// A lost connection is there again, or was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionChange {
    pub environment: String,
    pub is_connected: bool,
}
