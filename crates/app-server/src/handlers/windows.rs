//! `windowsSandbox/setupStart`: there is no such sandbox here, and the client is told so.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    WindowsSandboxSetupCompletedNotification, WindowsSandboxSetupMode,
    WindowsSandboxSetupStartParams, WindowsSandboxSetupStartResponse,
};

use super::fs::absolute;
use crate::connection::Responder;

pub(super) fn start_setup(
    params: WindowsSandboxSetupStartParams,
    reply: Responder<method::WindowsSandboxSetupStart>,
) {
    if let Some(Err(failure)) = params.cwd.as_ref().map(absolute) {
        return reply.refuse(failure);
    }
    let kind = match params.mode {
        WindowsSandboxSetupMode::Elevated => "elevated",
        WindowsSandboxSetupMode::Unelevated => "legacy",
    };
    let why = if cfg!(windows) {
        "is not there yet"
    } else {
        "is only supported on Windows"
    };
    let connection = std::sync::Arc::clone(reply.connection());
    reply.accept(&WindowsSandboxSetupStartResponse { started: true });
    connection.notify(&ServerNotification::WindowsSandboxSetupCompleted(
        WindowsSandboxSetupCompletedNotification {
            mode: params.mode,
            success: false,
            error: Some(format!("{kind} Windows sandbox setup {why}")),
        },
    ));
}
