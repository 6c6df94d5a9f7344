//! Why a turn failed: the message for the user and the cause for the client's logic.

use codex_app_server_protocol_macros::Experimental;
use codex_protocol::{NonSteerableTurnKind, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::ExceededLimit;

/// Why a turn failed, or why a request to the model is being retried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct TurnError {
    /// Text for the user.
    pub message: String,
    /// Cause that a client can act on; null if none was determined.
    pub codex_error_info: Option<CodexErrorInfo>,
    /// Limit that ended the turn; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("own")]
    pub exceeded_limit: Option<ExceededLimit>,
    /// Technical text behind the message, such as the cause of a retry; null without one.
    pub additional_details: Option<String>,
}

/// Cause of an error, for clients that react to particular ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub enum CodexErrorInfo {
    /// The conversation no longer fits into the model's context window.
    ContextWindowExceeded,
    /// The plan's limit or the account's quota is used up.
    UsageLimitExceeded,
    /// The provider has no capacity left for this model.
    ServerOverloaded,
    /// The provider failed on its side.
    InternalServerError,
    /// The credentials are not accepted and could not be renewed.
    Unauthorized,
    /// The input or a setting was refused as invalid.
    BadRequest,
    /// A rollback was refused; no turn fails by this.
    ThreadRollbackFailed,
    /// The sandbox could not be set up or failed.
    SandboxError,
    /// A limit on use is reached, see `exceededLimit`.
    #[since("0.169")]
    SessionBudgetExceeded,
    /// The provider does not know the model.
    #[since("0.169")]
    ModelNotFound,
    /// The provider takes no more requests for a while.
    #[since("0.169")]
    RateLimitExceeded,
    /// The provider's rules on security forbid the request.
    #[since("0.140")]
    CyberPolicy,
    /// The provider's rules on biology forbid the request.
    #[since("0.171")]
    BioPolicy,
    /// The provider has no capacity left for the tier `flex`.
    #[since("0.169")]
    FlexUnavailable,
    /// The provider has no capacity left where its rules allow the request.
    #[since("0.169")]
    PolicyCapacityUnavailable,
    /// Anything without a cause of its own in this list.
    Other,
    /// The provider could not be reached, or answered with an error status.
    HttpConnectionFailed {
        /// Status of the provider's answer; null if none arrived.
        http_status_code: Option<u16>,
    },
    /// The stream of the model's response could not be opened.
    ResponseStreamConnectionFailed {
        /// Status of the provider's answer; null if none arrived.
        http_status_code: Option<u16>,
    },
    /// The stream of the model's response broke off before its end.
    ResponseStreamDisconnected {
        /// Status of the provider's answer; null if unknown.
        http_status_code: Option<u16>,
    },
    /// The request was given up after its last permitted retry.
    ResponseTooManyFailedAttempts {
        /// Status of the last attempt; null if unknown.
        http_status_code: Option<u16>,
    },
    /// Input was meant for a running turn that accepts none.
    ActiveTurnNotSteerable {
        /// Kind of the turn that is running.
        turn_kind: NonSteerableTurnKind,
    },
}
