//! Converts an error reply to a [`ModelError`].
//!
//! The body is parsed as JSON if possible, but need not be.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use codex_http::refused_redirect;
use jiff::fmt::rfc2822;
use jiff::{Timestamp, Zoned};
use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use crate::error::{ModelError, StatusLine, UnexpectedStatus};
use crate::rate_limits::text;
use crate::server_words::words_of;
use crate::unknown_model::is_unknown_model;
use crate::usage_limit::{UsageLimit, UsageLimitBody};
use crate::window_error::window_error;

const INVALID_IMAGE: &str = "The image data you provided does not represent a valid image";

/// Stands for the words of a server that says nothing.
const UNKNOWN_ERROR: &str = "Unknown error";

/// A reply with an error status.
#[derive(Debug)]
pub(crate) struct ErrorReply<'a> {
    pub(crate) status: u16,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
    pub(crate) url: &'a str,
}

/// The usual structure of an error body.
#[derive(Debug, Default, Deserialize)]
struct ErrorBody {
    error: Value,
}

impl ErrorReply<'_> {
    pub(crate) fn into_error(self, now: &Zoned) -> ModelError {
        let text = String::from_utf8_lossy(self.body);
        let error = serde_json::from_str::<ErrorBody>(&text)
            .map(|body| body.error)
            .unwrap_or_default();
        let code = error.get("code").and_then(Value::as_str);
        // Servers report this with a status if they have not started a stream.
        if matches!(self.status, 400 | 413 | 422 | 500)
            && let Some(error) = window_error(&error, &words_of(&text).unwrap_or_default())
        {
            return error;
        }
        match self.status {
            400 if text.contains(INVALID_IMAGE) => ModelError::InvalidImage,
            400 if code == Some("cyber_policy") => ModelError::SecurityPolicy(self.shown(&text)),
            400 if code == Some("bio_policy") => ModelError::BiologyPolicy(self.shown(&text)),
            400 | 404 if is_unknown_model(&error, &words_of(&text).unwrap_or_default()) => {
                ModelError::UnknownModel(self.shown(&text))
            }
            400 => ModelError::InvalidRequest(self.shown(&text)),
            429 => self.too_many(&text, &error, now),
            500 => ModelError::ServerFailed {
                said: words_of(&text),
                request_id: self.request_id(),
                retry_after: self.retry_after(now),
            },
            503 if matches!(code, Some("server_is_overloaded" | "slow_down")) => {
                ModelError::ServerOverloaded
            }
            _ => ModelError::UnexpectedStatus(Box::new(self.unexpected(&text, now))),
        }
    }

    /// The words of the server, with the status and the id of the request.
    fn shown(&self, body: &str) -> String {
        let words = words_of(body).unwrap_or_else(|| UNKNOWN_ERROR.to_owned());
        let id = self.request_id();
        let id = id.map_or_else(String::new, |id| format!(", request id: {id}"));
        format!("{words} (status {}{id})", StatusLine(self.status))
    }

    fn request_id(&self) -> Option<String> {
        request_id(self.headers).or_else(|| self.header("cf-ray"))
    }

    fn too_many(&self, body: &str, error: &Value, now: &Zoned) -> ModelError {
        match error.get("type").and_then(Value::as_str) {
            Some("usage_limit_reached") => {
                let body = UsageLimitBody::deserialize(error).unwrap_or_default();
                let limit = UsageLimit::new(body, self.headers, now);
                ModelError::UsageLimitReached(Box::new(limit))
            }
            Some("usage_not_included") => ModelError::UsageNotIncluded,
            _ if error.get("code").and_then(Value::as_str) == Some("insufficient_quota") => {
                ModelError::QuotaExceeded
            }
            _ => ModelError::TooManyRequests {
                said: words_of(body),
                request_id: self.request_id(),
                retry_after: self.retry_after(now),
            },
        }
    }

    fn unexpected(&self, text: &str, now: &Zoned) -> UnexpectedStatus {
        UnexpectedStatus {
            status: self.status,
            message: refused_redirect(self.status, self.headers)
                .or_else(|| words_of(text))
                .unwrap_or_else(|| UNKNOWN_ERROR.to_owned()),
            blocked: self.status == 403 && text.contains("Cloudflare") && text.contains("blocked"),
            url: self.url.to_owned(),
            cf_ray: self.header("cf-ray"),
            request_id: request_id(self.headers),
            auth_error: self.header("x-openai-authorization-error"),
            auth_error_code: auth_error_code(self.headers),
            retry_after: self.retry_after(now),
        }
    }

    fn header(&self, name: &str) -> Option<String> {
        text(self.headers, name).map(str::to_owned)
    }

    /// The wait that the server asks for, given in seconds or as a date.
    fn retry_after(&self, now: &Zoned) -> Option<Duration> {
        let value = text(self.headers, "retry-after")?;
        if let Ok(seconds) = value.parse::<f64>() {
            return Duration::try_from_secs_f64(seconds).ok();
        }
        let at: Timestamp = rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
        Some(Duration::try_from(at - now.timestamp()).unwrap_or(Duration::ZERO))
    }
}

/// The headers that servers and gateways put their id of a request into.
const REQUEST_IDS: [&str; 6] = [
    "x-request-id",
    "x-oai-request-id",
    "x-litellm-call-id",
    "apim-request-id",
    "x-amzn-requestid",
    "request-id",
];

/// The server's id of a request.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    let mut ids = REQUEST_IDS.iter().filter_map(|name| text(headers, name));
    ids.next().map(str::to_owned)
}

fn auth_error_code(headers: &HeaderMap) -> Option<String> {
    let decoded = STANDARD.decode(text(headers, "x-error-json")?).ok()?;
    let body: ErrorBody = serde_json::from_slice(&decoded).ok()?;
    Some(body.error.get("code")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use codex_protocol::CodexErrorInfo;

    use super::*;

    fn now() -> Zoned {
        "2026-03-01T12:00[UTC]".parse().unwrap()
    }

    fn reply(status: u16, headers: &[(&'static str, &str)], body: &str) -> ModelError {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        let reply = ErrorReply {
            status,
            headers: &map,
            body: body.as_bytes(),
            url: "http://x/r",
        };
        reply.into_error(&now())
    }

    /// Checks text, kind for clients, and whether the error is retryable.
    fn check(error: ModelError, text: &str, info: CodexErrorInfo, retryable: bool) {
        assert_eq!(error.to_string(), text);
        assert_eq!(error.codex_error_info(), info, "{text}");
        assert_eq!(error.is_retryable(), retryable, "{text}");
    }

    #[test]
    fn bad_requests() {
        let body = r#"{"error":{"message":"The image data you provided does not represent a valid image. X"}}"#;
        assert_eq!(reply(400, &[], body), ModelError::InvalidImage);
        let info = ModelError::InvalidImage.codex_error_info();
        assert_eq!(info, CodexErrorInfo::BadRequest);
        let coded = |code: &str| {
            reply(
                400,
                &[],
                &format!(r#"{{"error":{{"message":"no","code":"{code}"}}}}"#),
            )
        };
        assert_eq!(
            coded("context_length_exceeded"),
            ModelError::ContextWindowExceeded { window: None }
        );
        let forbidden = ModelError::SecurityPolicy("no (status 400 Bad Request)".to_owned());
        assert_eq!(coded("cyber_policy"), forbidden);
        let body = r#"{"error":{"message":"no"}}"#;
        check(
            reply(400, &[("x-request-id", "r1")], body),
            "no (status 400 Bad Request, request id: r1)",
            CodexErrorInfo::BadRequest,
            false,
        );
    }

    #[test]
    fn too_many_requests() {
        let limit =
            r#"{"error":{"type":"usage_limit_reached","plan_type":"pro","resets_at":1772373600}}"#;
        check(
            reply(429, &[], limit),
            "You've hit your usage limit. Buy credits to go on, or try again at 2:00 PM.",
            CodexErrorInfo::UsageLimitExceeded,
            false,
        );
        let quota = reply(429, &[], r#"{"error":{"code":"insufficient_quota"}}"#);
        assert_eq!(quota, ModelError::QuotaExceeded);
        let none = reply(429, &[], r#"{"error":{"type":"usage_not_included"}}"#);
        assert_eq!(none, ModelError::UsageNotIncluded);
        let info = CodexErrorInfo::ResponseTooManyFailedAttempts {
            http_status_code: Some(429),
        };
        let text = "exceeded retry limit, last status: 429 Too Many Requests";
        let with_words = format!("{text}: busy");
        check(reply(429, &[], "busy"), &with_words, info, false);
        let with_id = format!("{text}, request id: r1");
        check(
            reply(429, &[("x-request-id", "r1")], ""),
            &with_id,
            info,
            false,
        );
        let with_ray = format!("{text}, request id: ray");
        check(reply(429, &[("cf-ray", "ray")], ""), &with_ray, info, false);
    }

    #[test]
    fn server_failures() {
        let failed = reply(500, &[("retry-after", "3")], "x");
        assert_eq!(failed.retry_after(), Some(Duration::from_secs(3)));
        assert_eq!(
            failed.codex_error_info(),
            CodexErrorInfo::InternalServerError
        );
        assert!(failed.is_retryable());
        let body = r#"{"error":{"message":"out of memory"}}"#;
        check(
            reply(500, &[("x-request-id", "r1")], body),
            "The model's server reports an internal error (status 500): out of memory, request id: r1",
            CodexErrorInfo::InternalServerError,
            true,
        );
        check(
            reply(500, &[], ""),
            "The model's server reports an internal error (status 500), as it may under high demand.",
            CodexErrorInfo::InternalServerError,
            true,
        );
        for code in ["server_is_overloaded", "slow_down"] {
            check(
                reply(503, &[], &format!(r#"{{"error":{{"code":"{code}"}}}}"#)),
                "Selected model is at capacity. Please try a different model.",
                CodexErrorInfo::ServerOverloaded,
                false,
            );
        }
        check(
            reply(503, &[], "busy"),
            "unexpected status 503 Service Unavailable: busy, url: http://x/r",
            CodexErrorInfo::HttpConnectionFailed {
                http_status_code: Some(503),
            },
            true,
        );
    }

    #[test]
    fn other_status_errors_have_all_details() {
        let info = STANDARD.encode(r#"{"error":{"code":"token_expired"}}"#);
        check(
            reply(
                401,
                &[
                    ("x-oai-request-id", "r2"),
                    ("cf-ray", "ray"),
                    ("x-openai-authorization-error", "expired"),
                    ("x-error-json", &info),
                ],
                r#"{"error":{"message":"no key"}}"#,
            ),
            "unexpected status 401 Unauthorized: no key, url: http://x/r, cf-ray: ray, \
             request id: r2, auth error: expired, auth error code: token_expired",
            CodexErrorInfo::Unauthorized,
            false,
        );
        check(
            reply(
                404,
                &[],
                r#"{"error":{"message":"no","code":"model_not_found"}}"#,
            ),
            "no (status 404 Not Found)",
            CodexErrorInfo::ModelNotFound,
            false,
        );
        check(
            reply(404, &[], ""),
            "unexpected status 404 Not Found: Unknown error, url: http://x/r",
            CodexErrorInfo::HttpConnectionFailed {
                http_status_code: Some(404),
            },
            false,
        );
        check(
            reply(
                400,
                &[("x-litellm-call-id", "r3")],
                r#"{"error":{"message":"Invalid model name passed in model=x.","code":"400"}}"#,
            ),
            "Invalid model name passed in model=x. (status 400 Bad Request, request id: r3)",
            CodexErrorInfo::ModelNotFound,
            false,
        );
        let long = "é".repeat(600);
        let shown = format!(
            "unexpected status 502 Bad Gateway: {}..., url: http://x/r",
            "é".repeat(500)
        );
        let info = CodexErrorInfo::HttpConnectionFailed {
            http_status_code: Some(502),
        };
        check(reply(502, &[], &long), &shown, info, true);
    }

    #[test]
    fn a_firewall_is_named() {
        let error = reply(403, &[], "<html>Cloudflare: you have been blocked</html>");
        let text = error.to_string();
        assert!(
            text.contains("(status 403 Forbidden), url: http://x/r"),
            "{text}"
        );
        assert!(!error.is_retryable());
    }

    #[test]
    fn waits_come_in_seconds_or_as_a_date() {
        let wait = |value| reply(429, &[("retry-after", value)], "").retry_after();
        assert_eq!(wait("1.5"), Some(Duration::from_millis(1500)));
        let date = "Sun, 01 Mar 2026 12:00:07 GMT";
        assert_eq!(wait(date), Some(Duration::from_secs(7)));
        let past = "Sun, 01 Mar 2026 11:00:00 GMT";
        assert_eq!(wait(past), Some(Duration::ZERO));
        assert_eq!(wait("soon"), None);
        assert_eq!(wait("-1"), None);
    }
}
