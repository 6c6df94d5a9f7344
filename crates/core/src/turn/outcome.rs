//! How a turn can end.

use codex_model_client::ModelError;
use codex_protocol::{CodexErrorInfo, ErrorEvent};

/// Why a turn ends early.
#[derive(Debug)]
pub(crate) enum TurnError {
    /// It was stopped.
    Stopped,
    /// A request to the model failed for good.
    Model(ModelError),
    /// It failed for another reason.
    Failed {
        message: String,
        info: CodexErrorInfo,
    },
}

impl TurnError {
    /// The event that clients get, if the turn failed.
    pub(crate) fn event(self) -> Option<ErrorEvent> {
        let (message, info) = match self {
            Self::Stopped => return None,
            Self::Model(error) => (error.to_string(), error.codex_error_info()),
            Self::Failed { message, info } => (message, info),
        };
        Some(ErrorEvent {
            message,
            codex_error_info: Some(info),
        })
    }
}

/// The result of a completed turn.
#[derive(Debug, Default)]
pub(crate) struct CompletedTurn {
    pub(crate) last_agent_message: Option<String>,
    pub(crate) response_id: Option<String>,
    /// Whether a hook ended the turn.
    pub(crate) stopped_by_hook: bool,
}

impl CompletedTurn {
    /// The result of a turn that a hook ended before the model was asked.
    pub(crate) fn stopped_by_hook() -> Self {
        Self {
            stopped_by_hook: true,
            ..Self::default()
        }
    }
}

/// The error of a task that panicked.
pub(crate) fn panicked() -> TurnError {
    TurnError::Failed {
        message: "Fatal error: the turn ended unexpectedly".to_owned(),
        info: CodexErrorInfo::Other,
    }
}
