//! The error of a reply.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Error {
    /// The kind of error. Negative codes from -32768 to -32000 are defined by JSON-RPC and the protocol.
    pub code: i64,
    /// One sentence for people.
    pub message: String,
    /// Details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl Error {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The line is not JSON.
    #[must_use]
    pub fn parse() -> Self {
        Self::new(-32700, "Parse error")
    }

    /// The line is not a valid message, or the request is not allowed in this state.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    /// The method does not exist.
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self::new(-32601, format!("Method not found: {method}"))
    }

    /// The params have the wrong type or an invalid value.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// The request was valid and failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(-32603, message)
    }

    /// The request was cancelled before its reply came.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(-32800, "Request cancelled")
    }

    /// Adds details.
    #[must_use]
    pub fn data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}
