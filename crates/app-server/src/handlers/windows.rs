//! `windowsSandbox/setupStart`: there is nothing to set up; the completion notification says why.

use codex_app_server_protocol::v2::{
    WindowsSandboxSetupCompletedNotification, WindowsSandboxSetupMode,
    WindowsSandboxSetupStartParams, WindowsSandboxSetupStartResponse,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};

use super::call::{EarlyReply, RequestContext};
use super::fs::absolute;
use crate::background_notifier::NotificationSink;
use crate::failure::Failure;

pub(super) async fn start_setup(
    RequestContext { connection, .. }: RequestContext,
    params: WindowsSandboxSetupStartParams,
) -> Result<EarlyReply<method::WindowsSandboxSetupStart>, Failure> {
    params.cwd.as_ref().map(absolute).transpose()?;
    let kind = match params.mode {
        WindowsSandboxSetupMode::Elevated => "elevated",
        WindowsSandboxSetupMode::Unelevated => "legacy",
    };
    let why = if cfg!(windows) {
        "is not possible: this program has no sandbox for Windows, so commands run after approval and without one"
    } else {
        "is only supported on Windows"
    };
    let completed = WindowsSandboxSetupCompletedNotification {
        mode: params.mode,
        success: false,
        error: Some(format!("{kind} Windows sandbox setup {why}")),
    };
    let response = WindowsSandboxSetupStartResponse { started: true };
    Ok(EarlyReply::then(response, move || {
        connection.notify(&ServerNotification::WindowsSandboxSetupCompleted(completed));
    }))
}
