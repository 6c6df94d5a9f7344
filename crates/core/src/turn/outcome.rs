//! How a turn can end.

use codex_model_client::ModelError;
use codex_protocol::{CodexErrorInfo, ErrorEvent};
use codex_session_base::budget::{LimitReached, RequestRefused};
use codex_session_base::thread::OperationError;

/// Why a turn ends early.
#[derive(Debug)]
pub(crate) enum TurnError {
    /// It was stopped.
    Stopped,
    /// A request to the model failed for good.
    Model(ModelError),
    /// A limit on its use is reached.
    Limit(LimitReached),
    /// It failed for another reason.
    Failed {
        message: String,
        info: CodexErrorInfo,
    },
}

impl TurnError {
    /// What the caller of an operation is told that ended so.
    pub(crate) fn operation_error(&self) -> OperationError {
        OperationError::Failed(match self {
            Self::Stopped => return OperationError::Stopped,
            Self::Model(error) => error.to_string(),
            Self::Limit(reached) => reached.to_string(),
            Self::Failed { message, .. } => message.clone(),
        })
    }

    /// The event that clients get, if the turn failed.
    pub(crate) fn event(self) -> Option<ErrorEvent> {
        let mut exceeded_limit = None;
        let (message, info) = match self {
            Self::Stopped => return None,
            Self::Model(error) => (error.to_string(), error.codex_error_info()),
            Self::Limit(reached) => {
                exceeded_limit = Some(reached.limit);
                (reached.to_string(), CodexErrorInfo::SessionBudgetExceeded)
            }
            Self::Failed { message, info } => (message, info),
        };
        Some(ErrorEvent {
            message,
            codex_error_info: Some(info),
            exceeded_limit,
        })
    }
}

impl From<RequestRefused> for TurnError {
    fn from(refused: RequestRefused) -> Self {
        match refused {
            RequestRefused::Limit(reached) => Self::Limit(reached),
            RequestRefused::UnknownPrice(_) => Self::Failed {
                message: refused.to_string(),
                info: CodexErrorInfo::BadRequest,
            },
        }
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
