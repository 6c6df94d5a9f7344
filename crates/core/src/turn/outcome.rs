//! How a turn can end.

use codex_protocol::CodexErrorInfo;

use crate::ports::{ModelError, Retry};

/// Why a turn ends early.
#[derive(Debug)]
pub(crate) enum TurnError {
    /// It was stopped.
    Stopped,
    /// A request to the model failed for good.
    Failed(ModelError),
}

/// The result of a completed turn.
#[derive(Debug, Default)]
pub(crate) struct CompletedTurn {
    pub(crate) last_agent_message: Option<String>,
    pub(crate) response_id: Option<String>,
}

/// The error of a task that panicked.
pub(crate) fn panicked() -> TurnError {
    TurnError::Failed(ModelError {
        message: "Fatal error: the turn ended unexpectedly".to_owned(),
        info: CodexErrorInfo::Other,
        retry: Retry::Never,
        http_status: None,
        invalid_image: false,
    })
}
