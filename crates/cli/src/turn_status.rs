//! The exit status of a command that ran turns.

use std::process::ExitCode;

use codex_app_server_protocol::v2::TurnStatus;

/// Success only if the last turn was completed.
pub(crate) fn success_if_completed(status: TurnStatus) -> ExitCode {
    match status {
        TurnStatus::Completed => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
