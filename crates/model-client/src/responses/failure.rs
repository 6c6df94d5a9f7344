//! What an event says when the server gives up on a response.

use serde::Deserialize;

use crate::error::ModelError;
use crate::retry::wait_in_text;

/// The error in an event, as both protocols spell it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Failure {
    code: Option<String>,
    message: Option<String>,
}

impl From<Failure> for ModelError {
    fn from(failure: Failure) -> Self {
        let message = failure.message.filter(|message| !message.is_empty());
        match failure.code.as_deref().unwrap_or_default() {
            "context_length_exceeded" => Self::ContextWindowExceeded,
            "insufficient_quota" => Self::QuotaExceeded,
            "usage_not_included" => Self::UsageNotIncluded,
            "invalid_prompt" => {
                Self::InvalidRequest(message.unwrap_or_else(|| "Invalid request.".to_owned()))
            }
            "server_is_overloaded" | "slow_down" => Self::ServerOverloaded,
            code => {
                let limited = code == "rate_limit_exceeded";
                let detail = message.unwrap_or_else(|| "the server gave up on it".to_owned());
                Self::Disconnected {
                    retry_after: limited.then(|| wait_in_text(&detail)).flatten(),
                    detail,
                }
            }
        }
    }
}
