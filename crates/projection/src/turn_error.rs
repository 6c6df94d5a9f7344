//! Converts errors of turns to the wire.

use codex_app_server_protocol::v2;
use codex_protocol::CodexErrorInfo;

pub fn turn_error(
    message: &str,
    info: Option<&CodexErrorInfo>,
    details: Option<&str>,
) -> v2::TurnError {
    v2::TurnError {
        message: message.to_owned(),
        codex_error_info: info.map(wire_error_info),
        exceeded_limit: None,
        additional_details: details.map(str::to_owned),
    }
}

fn wire_error_info(info: &CodexErrorInfo) -> v2::CodexErrorInfo {
    use v2::CodexErrorInfo as Wire;
    match *info {
        CodexErrorInfo::ContextWindowExceeded => Wire::ContextWindowExceeded,
        CodexErrorInfo::UsageLimitExceeded => Wire::UsageLimitExceeded,
        CodexErrorInfo::ServerOverloaded => Wire::ServerOverloaded,
        CodexErrorInfo::InternalServerError => Wire::InternalServerError,
        CodexErrorInfo::Unauthorized => Wire::Unauthorized,
        CodexErrorInfo::BadRequest => Wire::BadRequest,
        CodexErrorInfo::SandboxError => Wire::SandboxError,
        CodexErrorInfo::SessionBudgetExceeded => Wire::SessionBudgetExceeded,
        CodexErrorInfo::ModelNotFound => Wire::ModelNotFound,
        CodexErrorInfo::RateLimitExceeded => Wire::RateLimitExceeded,
        CodexErrorInfo::CyberPolicy => Wire::CyberPolicy,
        CodexErrorInfo::BioPolicy => Wire::BioPolicy,
        CodexErrorInfo::FlexUnavailable => Wire::FlexUnavailable,
        CodexErrorInfo::PolicyCapacityUnavailable => Wire::PolicyCapacityUnavailable,
        CodexErrorInfo::ThreadRollbackFailed => Wire::ThreadRollbackFailed,
        CodexErrorInfo::HttpConnectionFailed { http_status_code } => {
            Wire::HttpConnectionFailed { http_status_code }
        }
        CodexErrorInfo::ResponseStreamConnectionFailed { http_status_code } => {
            Wire::ResponseStreamConnectionFailed { http_status_code }
        }
        CodexErrorInfo::ResponseStreamDisconnected { http_status_code } => {
            Wire::ResponseStreamDisconnected { http_status_code }
        }
        CodexErrorInfo::ResponseTooManyFailedAttempts { http_status_code } => {
            Wire::ResponseTooManyFailedAttempts { http_status_code }
        }
        CodexErrorInfo::ActiveTurnNotSteerable { turn_kind } => {
            Wire::ActiveTurnNotSteerable { turn_kind }
        }
        _ => Wire::Other,
    }
}
