//! Converts errors of turns to the wire.

use codex_app_server_protocol::{ServerNotification, v2};
use codex_protocol::{CodexErrorInfo, NonSteerableTurnKind};

use super::command_action::{reads_files, shorten_paths};

pub(crate) fn turn_error(
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

/// Whether clients of 0.117 do not know the cause. They get `other`.
fn is_newer(error: &v2::TurnError) -> bool {
    use v2::CodexErrorInfo as Wire;
    matches!(
        error.codex_error_info,
        Some(
            Wire::SessionBudgetExceeded
                | Wire::ModelNotFound
                | Wire::RateLimitExceeded
                | Wire::CyberPolicy
                | Wire::FlexUnavailable
                | Wire::PolicyCapacityUnavailable
        )
    )
}

/// The same error for clients of 0.117.
pub(crate) fn older_error(error: &mut v2::TurnError) {
    if is_newer(error) {
        error.codex_error_info = Some(v2::CodexErrorInfo::Other);
    }
}

/// The same notification for clients of 0.117, if it is another one.
pub(crate) fn older_notification(notification: &ServerNotification) -> Option<ServerNotification> {
    match notification {
        ServerNotification::Error(failed) if is_newer(&failed.error) => {
            let mut failed = failed.clone();
            older_error(&mut failed.error);
            Some(ServerNotification::Error(failed))
        }
        ServerNotification::TurnCompleted(ended)
            if ended.turn.error.as_ref().is_some_and(is_newer) =>
        {
            let mut ended = ended.clone();
            ended.turn.error.iter_mut().for_each(older_error);
            Some(ServerNotification::TurnCompleted(ended))
        }
        ServerNotification::ItemStarted(started) if reads_files(&started.item.item) => {
            let mut started = started.clone();
            let is_other = shorten_paths(&mut started.item.item);
            is_other.then_some(ServerNotification::ItemStarted(started))
        }
        ServerNotification::ItemCompleted(completed) if reads_files(&completed.item.item) => {
            let mut completed = completed.clone();
            let is_other = shorten_paths(&mut completed.item.item);
            is_other.then_some(ServerNotification::ItemCompleted(completed))
        }
        ServerNotification::HookStarted(_) | ServerNotification::HookCompleted(_) => {
            let mut older = notification.clone();
            let run = match &mut older {
                ServerNotification::HookStarted(started) => &mut started.run,
                ServerNotification::HookCompleted(completed) => &mut completed.run,
                _ => return None,
            };
            leave_out_call(run).then_some(older)
        }
        _ => None,
    }
}

/// Takes the call of a tool out of the id of a run, where 0.117 does not have it. Returns whether it was there.
fn leave_out_call(run: &mut v2::HookRunSummary) -> bool {
    let end = format!(":{}:{}", run.display_order, run.source_path);
    let length = run.id.find(&end).map(|at| at + end.len());
    let has_call = length.is_some_and(|length| length < run.id.len());
    if let (true, Some(length)) = (has_call, length) {
        run.id.truncate(length);
    }
    has_call
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
            let turn_kind = match turn_kind {
                NonSteerableTurnKind::Review => v2::NonSteerableTurnKind::Review,
                NonSteerableTurnKind::Compact => v2::NonSteerableTurnKind::Compact,
            };
            Wire::ActiveTurnNotSteerable { turn_kind }
        }
        _ => Wire::Other,
    }
}
