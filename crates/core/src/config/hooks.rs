//! What a session asks of its embedder while it runs.

use std::fmt::Debug;
use std::path::Path;

use codex_protocol::{AskForApproval, SandboxPolicy};

/// Reads the files in which the user and a project instruct the model.
pub trait InstructionFiles: Debug + Send + Sync {
    /// The text of the files that apply to a working folder. Blocks on the file system.
    fn read(&self, cwd: &Path) -> Option<String>;
}

/// Limits set by an administrator, checked whenever settings change.
pub trait Limits: Debug + Send + Sync {
    /// Whether a thread may have these settings.
    ///
    /// # Errors
    /// They are not allowed.
    fn check(&self, approval: AskForApproval, sandbox: &SandboxPolicy) -> Result<(), NotAllowed>;
}

/// Settings that the administrator does not allow. The text says which and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotAllowed(pub String);

/// A turn that completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedTurn {
    /// The thread of the turn.
    pub thread: String,
    /// The id of the turn.
    pub turn: String,
    /// The working folder of the turn.
    pub cwd: String,
    /// The client of the thread.
    pub client: Option<String>,
    /// The messages of the user that are still part of the history.
    pub input_messages: Vec<String>,
    /// The last message of the model.
    pub last_agent_message: Option<String>,
}

/// Is notified of turns that completed.
pub trait TurnEnded: Debug + Send + Sync {
    /// Called after the end of the turn was emitted. Must return at once.
    fn ended(&self, turn: EndedTurn);
}
