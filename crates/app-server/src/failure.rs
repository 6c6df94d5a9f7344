//! Why a request was not carried out, with the code that the client sees.

use codex_app_server_protocol::rpc::{ErrorObject, error_code};
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

    /// The request cannot be carried out as it stands.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(error_code::INVALID_REQUEST, message)
    }

    /// The params are well-formed but over a limit.
    pub(crate) fn over_limit(message: impl Into<String>) -> Self {
        Self::new(error_code::INVALID_PARAMS, message)
    }

    /// The server failed.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(error_code::INTERNAL_ERROR, message)
    }

    /// What an MCP server refused, with its code.
    pub(crate) fn of_server(code: i64, message: impl Into<String>) -> Self {
        Self::new(code, message)
    }

    /// There is no such method.
    pub(crate) fn unknown_method(method: &str) -> Self {
        Self::new(
            error_code::METHOD_NOT_FOUND,
            format!("unknown method `{method}`"),
        )
    }

    /// The text is not JSON.
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Self::new(error_code::PARSE_ERROR, message)
    }

    /// Too much is going on.
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
