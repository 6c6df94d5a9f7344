//! Messages that exist only on websockets: errors that HTTP has a status for, and rate limits that HTTP has in headers.

use std::fmt;
use std::sync::Arc;

use codex_protocol::{CreditsSnapshot, PlanType, RateLimitSnapshot, RateLimitWindow};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::ResponseFailure;
use crate::clock::Clock;
use crate::error::ModelError;
use crate::error_reply::ErrorReply;
use crate::event::ModelEvent;
use crate::stream::Events;

const FAMILY: &str = "codex";

/// Decodes such messages.
pub(crate) struct SocketFrames {
    pub(crate) clock: Arc<dyn Clock>,
    /// The URL for errors.
    pub(crate) url: String,
}

#[derive(Deserialize)]
struct ErrorFrame {
    #[serde(alias = "status_code")]
    status: Option<u16>,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    headers: Map<String, Value>,
}

#[derive(Deserialize)]
struct LimitsFrame {
    plan_type: Option<PlanType>,
    rate_limits: Option<Windows>,
    credits: Option<CreditsSnapshot>,
    metered_limit_name: Option<String>,
    limit_name: Option<String>,
}

#[derive(Default, Deserialize)]
struct Windows {
    primary: Option<Window>,
    secondary: Option<Window>,
}

#[derive(Deserialize)]
struct Window {
    used_percent: f64,
    window_minutes: Option<i64>,
    reset_at: Option<i64>,
}

impl SocketFrames {
    /// Decodes a message of this kind, if it is one of these.
    pub(crate) fn decode(
        &self,
        kind: &str,
        data: &str,
        events: &mut Events,
    ) -> Result<(), ModelError> {
        match kind {
            "error" => Err(self.error(data)),
            "codex.rate_limits" => {
                events.extend(limits(data).map(ModelEvent::RateLimits));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn error(&self, data: &str) -> ModelError {
        let Ok(frame) = serde_json::from_str::<ErrorFrame>(data) else {
            return ModelError::disconnected("the server sent an error that cannot be read");
        };
        let failure = || ResponseFailure::deserialize(&frame.error).unwrap_or_default();
        let code = frame.error.get("code").and_then(Value::as_str);
        let Some(status) = frame.status.filter(|status| !(200..300).contains(status)) else {
            return failure().into();
        };
        match code {
            // The failure of a response with this code is retried.
            Some("previous_response_not_found" | "websocket_connection_limit_reached") => {
                failure().into()
            }
            _ => ErrorReply {
                status,
                headers: &headers(&frame.headers),
                body: data.as_bytes(),
                url: &self.url,
            }
            .into_error(&self.clock.now()),
        }
    }
}

impl fmt::Debug for SocketFrames {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SocketFrames")
            .finish_non_exhaustive()
    }
}

fn headers(members: &Map<String, Value>) -> HeaderMap {
    let header = |(name, value): (&String, &Value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        Some((name, HeaderValue::from_str(&text).ok()?))
    };
    members.iter().filter_map(header).collect()
}

fn limits(data: &str) -> Option<RateLimitSnapshot> {
    let frame: LimitsFrame = serde_json::from_str(data).ok()?;
    let windows = frame.rate_limits.unwrap_or_default();
    let window = |window: Option<Window>| {
        window.map(|window| RateLimitWindow {
            used_percent: window.used_percent,
            window_minutes: window.window_minutes,
            resets_at: window.reset_at,
        })
    };
    let family = frame.metered_limit_name.or(frame.limit_name.clone());
    let family = family.unwrap_or_else(|| FAMILY.to_owned());
    Some(RateLimitSnapshot {
        limit_id: Some(family.to_ascii_lowercase().replace('-', "_")),
        limit_name: frame.limit_name,
        primary: window(windows.primary),
        secondary: window(windows.secondary),
        credits: frame.credits,
        plan_type: frame.plan_type,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::SystemClock;

    fn decode(frame: &Value) -> (Events, Result<(), ModelError>) {
        let frames = SocketFrames {
            clock: Arc::new(SystemClock),
            url: "ws://x".to_owned(),
        };
        let mut events = Events::new();
        let kind = frame["type"].as_str().unwrap();
        let decoded = frames.decode(kind, &frame.to_string(), &mut events);
        (events, decoded)
    }

    fn error(frame: Value) -> ModelError {
        decode(&frame).1.unwrap_err()
    }

    #[test]
    fn errors_are_those_of_replies_with_the_status() {
        let failed = error(json!({"type": "error", "status": 500, "error": {},
                                  "headers": {"retry-after": "7"}}));
        assert_eq!(
            failed.retry_after(),
            Some(std::time::Duration::from_secs(7))
        );
        let limited = error(json!({"type": "error", "status_code": 429,
            "error": {"type": "usage_limit_reached", "plan_type": "pro"}}));
        assert!(matches!(limited, ModelError::UsageLimitReached(_)));
        let rejected = error(json!({"type": "error", "status": 400, "error": {"message": "no"}}));
        assert!(matches!(rejected, ModelError::InvalidRequest(_)));
    }

    #[test]
    fn some_errors_are_about_the_connection() {
        let code = |code: &str| {
            error(json!({"type": "error", "status": 400, "error": {"code": code, "message": "m"}}))
        };
        let forgotten = code("previous_response_not_found");
        assert_eq!(forgotten, ModelError::PreviousResponseNotFound);
        assert!(code("websocket_connection_limit_reached").is_retryable());
        assert!(error(json!({"type": "error", "error": {"message": "m"}})).is_retryable());
        assert!(error(json!({"type": "error", "status": "x"})).is_retryable());
    }

    #[test]
    fn rate_limits_are_read() {
        let frame = json!({"type": "codex.rate_limits", "plan_type": "pro", "limit_name": "Some-Model",
            "rate_limits": {"primary": {"used_percent": 3, "window_minutes": 5, "reset_at": 1}}});
        let expected = RateLimitSnapshot {
            limit_id: Some("some_model".to_owned()),
            limit_name: Some("Some-Model".to_owned()),
            primary: Some(RateLimitWindow {
                used_percent: 3.0,
                window_minutes: Some(5),
                resets_at: Some(1),
            }),
            plan_type: Some(PlanType::Pro),
            ..RateLimitSnapshot::default()
        };
        assert_eq!(decode(&frame).0, [ModelEvent::RateLimits(expected)]);
        assert_eq!(
            decode(&json!({"type": "codex.rate_limits", "credits": 1})).0,
            []
        );
    }
}
