//! The error in an event when the server fails.

use serde::Deserialize;
use serde_json::Value;

use crate::error::ModelError;
use crate::retry::wait_in_text;
use crate::server_words::sentence;
use crate::window_error::window_error;

/// An error in the format of both protocols. Servers do not agree on the types of its members.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct ResponseFailure(Value);

impl From<ResponseFailure> for ModelError {
    fn from(failure: ResponseFailure) -> Self {
        let ResponseFailure(error) = failure;
        let said = error["message"].as_str().or(error.as_str());
        if let Some(error) = window_error(&error, said.unwrap_or_default()) {
            return error;
        }
        let message = said.filter(|said| !said.is_empty()).map(sentence);
        match error["code"].as_str().unwrap_or_default() {
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
