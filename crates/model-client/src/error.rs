//! The errors of requests to a model.
//!
//! The text of an error is shown to users. Clients use [`ModelError::codex_error_info`]; retries use
//! [`ModelError::is_retryable`].

use std::fmt;
use std::time::Duration;

use codex_http::SentSecrets;
use codex_protocol::CodexErrorInfo;

use crate::unreachable::Unreachable;
use crate::usage_limit::UsageLimit;

/// What broke a response off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakCause {
    /// There was no connection, so the server sent nothing.
    NoConnection,
    /// The stream ended early, or cannot be read.
    CutStream,
    /// The server reports a failure.
    ServerReport,
}

/// A failed request to a model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The server could not read an image in the input.
    #[error("The model could not read an image in the request.")]
    InvalidImage,
    /// The server rejects the request and says why.
    #[error("{0}")]
    InvalidRequest(String),
    /// The usage limit of the account is reached.
    #[error("{0}")]
    UsageLimitReached(Box<UsageLimit>),
    /// The plan of the account does not include this use.
    #[error(
        "Your plan does not include this use of the model. Upgrade your ChatGPT plan to go on."
    )]
    UsageNotIncluded,
    /// Too many requests in a short time.
    #[error(
        "exceeded retry limit, last status: 429 Too Many Requests{}{}",
        behind_colon(.said.as_deref()),
        suffix("request id", .request_id.as_deref())
    )]
    TooManyRequests {
        /// What the server says.
        said: Option<String>,
        /// The server's id of the request.
        request_id: Option<String>,
        /// The wait that the server asks for.
        retry_after: Option<Duration>,
    },
    /// Too many requests in a short time, as an event says.
    #[error("rate limit exceeded: {detail}")]
    RateLimited {
        detail: String,
        /// The wait that the server asks for.
        retry_after: Option<Duration>,
    },
    /// The provider does not know the model.
    #[error("{0}")]
    UnknownModel(String),
    /// The provider's rules on security forbid the request.
    #[error("{0}")]
    SecurityPolicy(String),
    /// The provider's rules on biology forbid the request.
    #[error("{0}")]
    BiologyPolicy(String),
    /// An internal error of the server.
    #[error(
        "The model's server reports an internal error (status 500){}{}",
        .said.as_deref().map_or(", as it may under high demand.".to_owned(), |said| format!(": {said}")),
        suffix("request id", .request_id.as_deref())
    )]
    ServerFailed {
        /// What the server says.
        said: Option<String>,
        /// The server's id of the request.
        request_id: Option<String>,
        /// The wait that the server asks for.
        retry_after: Option<Duration>,
    },
    /// The server has no capacity for this model.
    #[error("Selected model is at capacity. Please try a different model.")]
    ServerOverloaded,
    /// The server has no capacity for the tier `flex`.
    #[error("The provider has no capacity left for flex processing.")]
    FlexUnavailable,
    /// The server has no capacity where its rules allow the request.
    #[error(
        "The provider has no capacity left where its rules allow this request. Try again later."
    )]
    PolicyCapacityUnavailable,
    /// Any other error status.
    #[error("{0}")]
    UnexpectedStatus(Box<UnexpectedStatus>),
    /// The connection failed or was lost, or the response was invalid.
    #[error("stream disconnected before completion: {detail}")]
    Disconnected {
        detail: String,
        cause: BreakCause,
        /// The wait that the server asks for.
        retry_after: Option<Duration>,
    },
    /// No server answers at the address.
    #[error("{0}")]
    Unreachable(Box<Unreachable>),
    /// The server no longer has the response that the request continues.
    #[error("the model's server no longer has the previous response")]
    PreviousResponseNotFound,
    /// A time limit was exceeded.
    #[error("timed out waiting for {what} after {after:?}")]
    TimedOut {
        /// What was awaited.
        what: &'static str,
        /// The limit.
        after: Duration,
        cause: BreakCause,
    },
    /// The input exceeds the context window.
    #[error(
        "Codex ran out of room in the model's context window. \
         Start a new thread or clear earlier history before retrying."
    )]
    ContextWindowExceeded {
        /// How long the window is, if the server has said it.
        window: Option<i64>,
    },
    /// The account has no quota left.
    #[error("Quota exceeded. Check your plan and billing details.")]
    QuotaExceeded,
    /// The environment variable for the provider's key is unset or blank.
    #[error("Missing environment variable: `{name}`.{}", after_space(.instructions.as_deref()))]
    MissingEnvironmentVariable {
        name: String,
        /// Instructions from the provider's configuration.
        instructions: Option<String>,
    },
    /// The provider needs a login, and there is none.
    #[error(
        "Nobody is logged in. Run `codex login`, pass a key to `codex login --with-api-key`, or choose a model provider that needs no login."
    )]
    NotLoggedIn,
    /// The login is no longer valid and cannot be renewed.
    #[error("{0}")]
    LoginRefused(String),
    /// Renewing the login failed temporarily.
    #[error("{0}")]
    LoginNotRenewed(String),
    /// The response exceeds a limit.
    #[error("The model sent {article} {what} larger than {limit} {unit}; it was rejected.", article = article(.what))]
    TooLarge {
        what: &'static str,
        limit: usize,
        /// The unit of the limit.
        unit: &'static str,
    },
    /// The provider or request has invalid settings.
    #[error("{0}")]
    Unsendable(String),
}

impl ModelError {
    /// A failure of the stream.
    pub fn disconnected(detail: impl Into<String>) -> Self {
        Self::broken(BreakCause::CutStream, detail)
    }

    /// A failure to reach the server.
    pub(crate) fn not_connected(detail: impl Into<String>) -> Self {
        Self::broken(BreakCause::NoConnection, detail)
    }

    /// A failure that the server reports without a meaning of its own.
    pub(crate) fn reported(detail: impl Into<String>) -> Self {
        Self::broken(BreakCause::ServerReport, detail)
    }

    fn broken(cause: BreakCause, detail: impl Into<String>) -> Self {
        Self::Disconnected {
            detail: detail.into(),
            cause,
            retry_after: None,
        }
    }

    /// Removes the secrets of the request, which a server may have repeated in its reply.
    pub(crate) fn redacted(self, secrets: &SentSecrets) -> Self {
        let redact = |text: String| secrets.redact(text);
        match self {
            Self::InvalidRequest(text) => Self::InvalidRequest(redact(text)),
            Self::UnknownModel(text) => Self::UnknownModel(redact(text)),
            Self::SecurityPolicy(text) => Self::SecurityPolicy(redact(text)),
            Self::BiologyPolicy(text) => Self::BiologyPolicy(redact(text)),
            Self::TooManyRequests {
                said,
                request_id,
                retry_after,
            } => Self::TooManyRequests {
                said: said.map(redact),
                request_id,
                retry_after,
            },
            Self::ServerFailed {
                said,
                request_id,
                retry_after,
            } => Self::ServerFailed {
                said: said.map(redact),
                request_id,
                retry_after,
            },
            Self::RateLimited {
                detail,
                retry_after,
            } => Self::RateLimited {
                detail: redact(detail),
                retry_after,
            },
            Self::Disconnected {
                detail,
                cause,
                retry_after,
            } => Self::Disconnected {
                detail: redact(detail),
                cause,
                retry_after,
            },
            Self::UnexpectedStatus(status) => Self::UnexpectedStatus(Box::new(UnexpectedStatus {
                message: redact(status.message),
                url: redact(status.url),
                auth_error: status.auth_error.map(redact),
                auth_error_code: status.auth_error_code.map(redact),
                ..*status
            })),
            other => other,
        }
    }

    /// Whether the same request may succeed if it is sent again.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::ServerFailed { .. }
            | Self::Disconnected { .. }
            | Self::RateLimited { .. }
            | Self::TimedOut { .. }
            | Self::PreviousResponseNotFound
            | Self::LoginNotRenewed(_) => true,
            // Waiting changes nothing on this machine; elsewhere the network may come back.
            Self::Unreachable(server) => !server.is_local,
            Self::UnexpectedStatus(status) => !(400..500).contains(&status.status),
            _ => false,
        }
    }

    /// Whether another model of the same provider may do what this one cannot.
    pub fn concerns_model(&self) -> bool {
        match self {
            Self::UnknownModel(_)
            | Self::ServerOverloaded
            | Self::UsageLimitReached(_)
            | Self::TooManyRequests { .. }
            | Self::RateLimited { .. }
            | Self::FlexUnavailable
            | Self::PolicyCapacityUnavailable => true,
            Self::UnexpectedStatus(reply) => matches!(reply.status, 404 | 503 | 529),
            _ => false,
        }
    }

    /// The wait that the server asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooManyRequests { retry_after, .. }
            | Self::ServerFailed { retry_after, .. }
            | Self::RateLimited { retry_after, .. }
            | Self::Disconnected { retry_after, .. } => *retry_after,
            Self::UnexpectedStatus(status) => status.retry_after,
            _ => None,
        }
    }

    /// The HTTP status, if the error is based on one.
    pub fn http_status(&self) -> Option<u16> {
        match self {
            Self::TooManyRequests { .. } => Some(429),
            Self::ServerFailed { .. } => Some(500),
            Self::UnexpectedStatus(status) => Some(status.status),
            _ => None,
        }
    }

    /// The server's id of the request, if known.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::TooManyRequests { request_id, .. } | Self::ServerFailed { request_id, .. } => {
                request_id.as_deref()
            }
            Self::UnexpectedStatus(status) => status.request_id.as_deref(),
            _ => None,
        }
    }

    /// The error kind for clients when the turn fails.
    pub fn codex_error_info(&self) -> CodexErrorInfo {
        match self {
            Self::InvalidImage | Self::InvalidRequest(_) => CodexErrorInfo::BadRequest,
            Self::UsageLimitReached(_) | Self::UsageNotIncluded | Self::QuotaExceeded => {
                CodexErrorInfo::UsageLimitExceeded
            }
            Self::TooManyRequests { .. } => CodexErrorInfo::ResponseTooManyFailedAttempts {
                http_status_code: Some(429),
            },
            Self::ServerFailed { .. } => CodexErrorInfo::InternalServerError,
            Self::ServerOverloaded => CodexErrorInfo::ServerOverloaded,
            Self::ContextWindowExceeded { .. } => CodexErrorInfo::ContextWindowExceeded,
            Self::LoginRefused(_) | Self::NotLoggedIn => CodexErrorInfo::Unauthorized,
            Self::RateLimited { .. } => CodexErrorInfo::RateLimitExceeded,
            Self::UnknownModel(_) => CodexErrorInfo::ModelNotFound,
            Self::SecurityPolicy(_) => CodexErrorInfo::CyberPolicy,
            Self::BiologyPolicy(_) => CodexErrorInfo::BioPolicy,
            Self::FlexUnavailable => CodexErrorInfo::FlexUnavailable,
            Self::PolicyCapacityUnavailable => CodexErrorInfo::PolicyCapacityUnavailable,
            Self::UnexpectedStatus(reply) if reply.status == 401 => CodexErrorInfo::Unauthorized,
            Self::UnexpectedStatus(reply) => CodexErrorInfo::HttpConnectionFailed {
                http_status_code: Some(reply.status),
            },
            Self::Unreachable(_) => CodexErrorInfo::ResponseStreamConnectionFailed {
                http_status_code: None,
            },
            Self::Disconnected { cause, .. } | Self::TimedOut { cause, .. } => match cause {
                BreakCause::NoConnection => CodexErrorInfo::ResponseStreamConnectionFailed {
                    http_status_code: None,
                },
                BreakCause::CutStream => CodexErrorInfo::ResponseStreamDisconnected {
                    http_status_code: None,
                },
                BreakCause::ServerReport => CodexErrorInfo::Other,
            },
            Self::PreviousResponseNotFound
            | Self::MissingEnvironmentVariable { .. }
            | Self::LoginNotRenewed(_)
            | Self::TooLarge { .. }
            | Self::Unsendable(_) => CodexErrorInfo::Other,
        }
    }

    /// The error kind for clients when the request will be retried.
    pub fn retry_info(&self) -> CodexErrorInfo {
        CodexErrorInfo::ResponseStreamDisconnected {
            http_status_code: self.http_status(),
        }
    }
}

/// A reply with a status that has no special handling, with details for diagnosis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnexpectedStatus {
    pub status: u16,
    /// The server's message, or the beginning of the body.
    pub message: String,
    /// Whether a firewall blocked the request.
    pub blocked: bool,
    pub url: String,
    /// The firewall's id of the request.
    pub cf_ray: Option<String>,
    /// The server's id of the request.
    pub request_id: Option<String>,
    /// The server's message about the credential.
    pub auth_error: Option<String>,
    /// The server's error code about the credential.
    pub auth_error_code: Option<String>,
    /// The wait that the server asks for.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for UnexpectedStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.blocked {
            write!(
                formatter,
                "The model's server cannot be reached from this network: \
                 its firewall turned the request away, possibly because of the region (status {})",
                StatusLine(self.status)
            )?;
        } else {
            let status = StatusLine(self.status);
            write!(formatter, "unexpected status {status}: {}", self.message)?;
        }
        write!(formatter, ", url: {}", self.url)?;
        let parts = [
            ("cf-ray", &self.cf_ray),
            ("request id", &self.request_id),
            ("auth error", &self.auth_error),
            ("auth error code", &self.auth_error_code),
        ];
        for (name, value) in parts {
            formatter.write_str(&suffix(name, value.as_deref()))?;
        }
        Ok(())
    }
}

/// A status code with its standard text.
pub(crate) struct StatusLine(pub(crate) u16);

impl fmt::Display for StatusLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = reqwest::StatusCode::from_u16(self.0);
        match known.ok().and_then(|status| status.canonical_reason()) {
            Some(reason) => write!(formatter, "{} {reason}", self.0),
            None => write!(formatter, "{}", self.0),
        }
    }
}

fn suffix(name: &str, value: Option<&str>) -> String {
    value.map_or_else(String::new, |value| format!(", {name}: {value}"))
}

fn behind_colon(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!(": {text}"))
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

fn after_space(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!(" {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexpected_status_error_has_all_details() {
        let bare = UnexpectedStatus {
            status: 404,
            message: "gone".to_owned(),
            url: "http://x/r".to_owned(),
            ..UnexpectedStatus::default()
        };
        assert_eq!(
            bare.to_string(),
            "unexpected status 404 Not Found: gone, url: http://x/r"
        );
        let full = UnexpectedStatus {
            status: 599,
            cf_ray: Some("c".to_owned()),
            request_id: Some("r".to_owned()),
            auth_error: Some("a".to_owned()),
            auth_error_code: Some("code".to_owned()),
            ..bare
        };
        assert_eq!(
            full.to_string(),
            "unexpected status 599: gone, url: http://x/r, cf-ray: c, request id: r, \
             auth error: a, auth error code: code"
        );
    }

    #[test]
    fn a_missing_variable_comes_with_its_instructions() {
        let error = |instructions: Option<&str>| ModelError::MissingEnvironmentVariable {
            name: "KEY".to_owned(),
            instructions: instructions.map(str::to_owned),
        };
        let text = "Missing environment variable: `KEY`.";
        assert_eq!(error(None).to_string(), text);
        assert_eq!(
            error(Some("Set it.")).to_string(),
            format!("{text} Set it.")
        );
    }

    #[test]
    fn client_errors_are_final_and_server_errors_are_not() {
        let status = |status| {
            ModelError::UnexpectedStatus(Box::new(UnexpectedStatus {
                status,
                ..UnexpectedStatus::default()
            }))
        };
        for code in [401, 403, 404, 418] {
            assert!(!status(code).is_retryable(), "{code}");
        }
        for code in [301, 502, 504] {
            assert!(status(code).is_retryable(), "{code}");
        }
        let failed = CodexErrorInfo::HttpConnectionFailed {
            http_status_code: Some(502),
        };
        assert_eq!(status(502).codex_error_info(), failed);
    }
}
