//! The kind of an error, for clients that handle kinds differently.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CodexErrorInfo {
    /// The history does not fit into the model any more.
    ContextWindowExceeded,
    /// The account has used up what it may.
    UsageLimitExceeded,
    /// The model's server has no capacity.
    ServerOverloaded,
    /// The model's server could not be reached.
    HttpConnectionFailed {
        /// The status of the reply, if there was one.
        http_status_code: Option<u16>,
    },
    /// The stream of a reply could not be opened.
    ResponseStreamConnectionFailed {
        /// The status of the reply, if there was one.
        http_status_code: Option<u16>,
    },
    /// The model's server failed.
    InternalServerError,
    /// The login is not valid any more.
    Unauthorized,
    /// The request cannot be carried out as it is.
    BadRequest,
    /// The sandbox could not be set up, or failed.
    SandboxError,
    /// The stream of a reply broke off.
    ResponseStreamDisconnected {
        /// The status of the reply, if there was one.
        http_status_code: Option<u16>,
    },
    /// Every try failed.
    ResponseTooManyFailedAttempts {
        /// The status of the last reply, if there was one.
        http_status_code: Option<u16>,
    },
    /// The turn that is running does not take more input.
    ActiveTurnNotSteerable {
        /// What kind of turn it is.
        turn_kind: NonSteerableTurnKind,
    },
    /// A rollback was not possible. The turn is not affected.
    ThreadRollbackFailed,
    /// A limit on what the turn, the thread or its agents may use is reached.
    SessionBudgetExceeded,
    /// The provider does not know the model.
    ModelNotFound,
    /// The model's server takes no more requests for a while.
    RateLimitExceeded,
    /// The provider's rules on security forbid the request.
    CyberPolicy,
    /// The provider's rules on biology forbid the request.
    BioPolicy,
    /// The provider has no capacity left for the tier `flex`.
    FlexUnavailable,
    /// The provider has no capacity left where its rules allow the request.
    PolicyCapacityUnavailable,
    /// Anything else.
    Other,
}

impl CodexErrorInfo {
    /// Whether a turn in which it happens counts as failed.
    pub fn fails_turn(&self) -> bool {
        !matches!(
            self,
            Self::ThreadRollbackFailed | Self::ActiveTurnNotSteerable { .. }
        )
    }
}

/// Kind of turn that accepts no further input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NonSteerableTurnKind {
    /// A code review.
    Review,
    /// A compaction that a client asked for.
    Compact,
}
