//! Errors of requests, with their JSON-RPC codes.

use codex_app_server_protocol::rpc::{ErrorObject, error_code};
use codex_core::{StartTurnError, ThreadClosed};
use codex_projection::InvalidCost;
use codex_thread_state::StateError;
use serde_json::Value;

/// The error of a reply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure(ErrorObject);

impl Failure {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self(ErrorObject {
            code,
            message: message.into(),
            data: None,
        })
    }

    /// What failed, for people.
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// The request is invalid.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(error_code::INVALID_REQUEST, message)
    }

    /// The params are of the right form, but not acceptable: too much, or unknown.
    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(error_code::INVALID_PARAMS, message)
    }

    /// The server failed to carry the request out.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(error_code::INTERNAL_ERROR, message)
    }

    /// Limits are not valid.
    pub(crate) fn of_limits(error: InvalidCost) -> Self {
        Self::invalid(error.to_string())
    }

    /// A turn does not start or go on.
    pub(crate) fn of_start(error: StartTurnError) -> Self {
        match error {
            StartTurnError::Closed(_) => Self::internal(error.to_string()),
            _ => Self::invalid(error.to_string()),
        }
    }

    /// An error of an MCP server, with its code.
    pub(crate) fn of_server(code: i64, message: impl Into<String>, data: Option<Value>) -> Self {
        let mut failure = Self::new(code, message);
        failure.0.data = data;
        failure
    }

    /// The method is unknown.
    pub(crate) fn unknown_method(method: &str) -> Self {
        Self::new(
            error_code::METHOD_NOT_FOUND,
            format!("unknown method `{method}`"),
        )
    }

    /// The method is known, but is not there.
    pub(crate) fn not_implemented(message: impl Into<String>) -> Self {
        Self::new(error_code::METHOD_NOT_FOUND, message)
    }

    /// The text is not JSON.
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Self::new(error_code::PARSE_ERROR, message)
    }

    /// Too many requests are running.
    pub(crate) fn overloaded() -> Self {
        Self::new(error_code::OVERLOADED, "Server overloaded; retry later.")
    }

    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.0.data = Some(data);
        self
    }

    pub(crate) fn into_object(self) -> ErrorObject {
        self.0
    }
}

impl From<ThreadClosed> for Failure {
    fn from(closed: ThreadClosed) -> Self {
        Self::internal(closed.to_string())
    }
}

/// The state of threads could not be read or written.
pub(crate) fn state_failed(error: StateError) -> Failure {
    Failure::internal(error.to_string())
}
