//! The error in an event when the server fails.

use serde::Deserialize;

use crate::error::ModelError;
use crate::retry::wait_in_text;

/// An error in the format of both protocols.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ResponseFailure {
    code: Option<String>,
    message: Option<String>,
}

impl From<ResponseFailure> for ModelError {
    fn from(failure: ResponseFailure) -> Self {
        let message = failure.message.filter(|message| !message.is_empty());
        match failure.code.as_deref().unwrap_or_default() {
            "context_length_exceeded" => Self::ContextWindowExceeded,
            "insufficient_quota" => Self::QuotaExceeded,
            "usage_not_included" => Self::UsageNotIncluded,
            "invalid_prompt" => {
                Self::InvalidRequest(message.unwrap_or_else(|| "Invalid request.".to_owned()))
            }
            "server_is_overloaded" | "slow_down" => Self::ServerOverloaded,
            "flex_unavailable" => Self::FlexUnavailable,
            "policy_capacity_unavailable" => Self::PolicyCapacityUnavailable,
            "previous_response_not_found" => Self::PreviousResponseNotFound,
            "model_not_found" => {
                Self::UnknownModel(message.unwrap_or_else(|| "model_not_found".to_owned()))
            }
            "cyber_policy" => {
                Self::SecurityPolicy(message.unwrap_or_else(|| "cyber_policy".to_owned()))
            }
            "bio_policy" => Self::BiologyPolicy(message.unwrap_or_else(|| "bio_policy".to_owned())),
            code => {
                let detail = message.unwrap_or_else(|| "the server gave up on it".to_owned());
                match code {
                    "rate_limit_exceeded" => Self::RateLimited {
                        retry_after: wait_in_text(&detail),
                        detail,
                    },
                    _ => Self::reported(detail),
                }
            }
        }
    }
}
