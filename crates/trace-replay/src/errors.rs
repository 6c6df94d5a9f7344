//! Recorded error messages as errors of the model client.

use codex_model_client::{ModelError, UnexpectedStatus};

/// The error with this message. `is_repeated` says that the session sent another request in the same turn,
/// `is_stopped` that the turn was interrupted: both mean that the failure did not end it.
pub(crate) fn model_error(message: &str, is_repeated: bool, is_stopped: bool) -> ModelError {
    let plain = [
        ModelError::InvalidImage,
        ModelError::UsageNotIncluded,
        ModelError::ServerOverloaded,
        ModelError::ContextWindowExceeded { window: None },
        ModelError::QuotaExceeded,
    ];
    if let Some(error) = plain.into_iter().find(|error| error.to_string() == message) {
        return error;
    }
    if is_repeated || is_stopped {
        let detail = message.strip_prefix("stream disconnected before completion: ");
        return ModelError::disconnected(detail.unwrap_or(message));
    }
    // Errors that can be repeated were repeated as often as is allowed, by the client or by the engine.
    let status = message.strip_prefix("unexpected status ");
    match status.and_then(|rest| rest.get(..3)?.parse().ok()) {
        Some(status @ 400..500) => ModelError::UnexpectedStatus(Box::new(UnexpectedStatus {
            status,
            message: message.to_owned(),
            ..UnexpectedStatus::default()
        })),
        _ => ModelError::InvalidRequest(message.to_owned()),
    }
}
