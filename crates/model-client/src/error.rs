//! What can go wrong between a prompt and the end of its response, as one typed value.
//!
//! The text of an error is what a person sees. Clients act on [`ModelError::codex_error_info`];
//! the retry rule asks [`ModelError::is_retryable`].

use std::fmt;
use std::time::Duration;

use codex_http::SentSecrets;
use codex_protocol::CodexErrorInfo;

use crate::usage_limit::UsageLimit;

/// A failed request to a model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The server could not read an image in the input.
    #[error("The model could not read an image in the request.")]
    InvalidImage,
    /// The server refuses the request as it is, and says why.
    #[error("{0}")]
    InvalidRequest(String),
    /// The account has used up what its plan allows.
    #[error("{0}")]
    UsageLimitReached(Box<UsageLimit>),
    /// The plan of the account does not allow this at all.
    #[error(
        "Your plan does not include this use of the model. Upgrade your ChatGPT plan to go on."
    )]
    UsageNotIncluded,
    /// Too many requests in a short time.
    #[error("exceeded retry limit, last status: 429 Too Many Requests{}", suffix("request id", .request_id.as_deref()))]
    TooManyRequests {
        /// The server's id of the request.
        request_id: Option<String>,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// The server failed.
    #[error("The model's server reports an internal error, as it may under high demand.")]
    ServerFailed {
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// The server has no room for this model.
    #[error("Selected model is at capacity. Please try a different model.")]
    ServerOverloaded,
    /// Any other status that is not a success.
    #[error("{0}")]
    UnexpectedStatus(Box<UnexpectedStatus>),
    /// There was no connection, it broke off, or what came over it made no sense.
    #[error("stream disconnected before completion: {detail}")]
    Disconnected {
        /// What happened.
        detail: String,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// Something did not come in time.
    #[error("timed out waiting for {what} after {after:?}")]
    TimedOut {
        /// What was waited for.
        what: &'static str,
        /// How long.
        after: Duration,
    },
    /// The input does not fit into the model.
    #[error(
        "Codex ran out of room in the model's context window. \
         Start a new thread or clear earlier history before retrying."
    )]
    ContextWindowExceeded,
    /// The account has no quota left.
    #[error("Quota exceeded. Check your plan and billing details.")]
    QuotaExceeded,
    /// The variable that should hold the provider's key is unset or blank.
    #[error("Missing environment variable: `{name}`.{}", after_space(.instructions.as_deref()))]
    MissingEnvironmentVariable {
        /// The variable.
        name: String,
        /// What the provider's configuration tells a person to do.
        instructions: Option<String>,
    },
    /// The login is not valid any more and cannot be renewed.
    #[error("{0}")]
    LoginRefused(String),
    /// The login could not be renewed this time.
    #[error("{0}")]
    LoginNotRenewed(String),
    /// The response brings more than is taken of one.
    #[error("The model sent {article} {what} of more than {limit} {unit}, which is not taken.", article = article(.what))]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it may be.
        limit: usize,
        /// In what.
        unit: &'static str,
    },
    /// The request cannot be sent, because of how the provider or the request is made up.
    #[error("{0}")]
    Unsendable(String),
}

impl ModelError {
    /// A stream that did not go as it should.
    pub fn disconnected(detail: impl Into<String>) -> Self {
        Self::Disconnected {
            detail: detail.into(),
            retry_after: None,
        }
    }

    /// The error without the secrets of its request, which a server may have repeated.
    pub(crate) fn redacted(self, secrets: &SentSecrets) -> Self {
        let redact = |text: String| secrets.redact(text);
        match self {
            Self::InvalidRequest(text) => Self::InvalidRequest(redact(text)),
            Self::Disconnected {
                detail,
                retry_after,
            } => Self::Disconnected {
                detail: redact(detail),
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

    /// Whether the same request may succeed when it is sent again.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::ServerFailed { .. }
            | Self::Disconnected { .. }
            | Self::TimedOut { .. }
            | Self::LoginNotRenewed(_) => true,
            Self::UnexpectedStatus(status) => !(400..500).contains(&status.status),
            _ => false,
        }
    }

    /// How long the server asks to wait before the request is sent again.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooManyRequests { retry_after, .. }
            | Self::ServerFailed { retry_after }
            | Self::Disconnected { retry_after, .. } => *retry_after,
            Self::UnexpectedStatus(status) => status.retry_after,
            _ => None,
        }
    }

    /// The status of the server's reply, if it is that which makes the error.
    pub fn http_status(&self) -> Option<u16> {
        match self {
            Self::TooManyRequests { .. } => Some(429),
            Self::ServerFailed { .. } => Some(500),
            Self::UnexpectedStatus(status) => Some(status.status),
            _ => None,
        }
    }

    /// The server's id of the request, if the error carries it.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::TooManyRequests { request_id, .. } => request_id.as_deref(),
            Self::UnexpectedStatus(status) => status.request_id.as_deref(),
            _ => None,
        }
    }

    /// What clients are told when the turn fails with it.
    pub fn codex_error_info(&self) -> CodexErrorInfo {
        match self {
            Self::InvalidImage => CodexErrorInfo::BadRequest,
            Self::UsageLimitReached(_) | Self::UsageNotIncluded | Self::QuotaExceeded => {
                CodexErrorInfo::UsageLimitExceeded
            }
            Self::TooManyRequests { .. } => CodexErrorInfo::ResponseTooManyFailedAttempts {
                http_status_code: Some(429),
            },
            Self::ServerFailed { .. } => CodexErrorInfo::InternalServerError,
            Self::ServerOverloaded => CodexErrorInfo::ServerOverloaded,
            Self::ContextWindowExceeded => CodexErrorInfo::ContextWindowExceeded,
            Self::LoginRefused(_) => CodexErrorInfo::Unauthorized,
            Self::UnexpectedStatus(_)
            | Self::InvalidRequest(_)
            | Self::Disconnected { .. }
            | Self::TimedOut { .. }
            | Self::MissingEnvironmentVariable { .. }
            | Self::LoginNotRenewed(_)
            | Self::TooLarge { .. }
            | Self::Unsendable(_) => CodexErrorInfo::Other,
        }
    }

    /// What clients are told when the request is about to be repeated.
    pub fn retry_info(&self) -> CodexErrorInfo {
        CodexErrorInfo::ResponseStreamDisconnected {
            http_status_code: self.http_status(),
        }
    }
}

/// A reply with a status that has no meaning of its own here, and everything that helps to find out
/// why it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnexpectedStatus {
    /// The status.
    pub status: u16,
    /// The server's words, or the beginning of its body.
    pub message: String,
    /// Whether a firewall in front of the server turned the request away.
    pub blocked: bool,
    /// The URL of the request.
    pub url: String,
    /// The firewall's id of the request.
    pub cf_ray: Option<String>,
    /// The server's id of the request.
    pub request_id: Option<String>,
    /// What the server says about the credential.
    pub auth_error: Option<String>,
    /// The code of that.
    pub auth_error_code: Option<String>,
    /// How long the server asks to wait.
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

/// A status with the words that belong to it.
struct StatusLine(u16);

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
    fn an_unexpected_status_tells_all_it_knows() {
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
        assert_eq!(status(401).codex_error_info(), CodexErrorInfo::Other);
        assert_eq!(status(502).codex_error_info(), CodexErrorInfo::Other);
    }
}
