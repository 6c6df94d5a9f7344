//! `windowsSandbox/*`: prepares the sandbox of Windows, and says whether commands run in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_app_server_protocol::v2::{
    WindowsSandboxReadiness, WindowsSandboxReadinessResponse,
    WindowsSandboxSetupCompletedNotification, WindowsSandboxSetupMode,
    WindowsSandboxSetupStartParams, WindowsSandboxSetupStartResponse,
};
use codex_app_server_protocol::{NoParams, ServerNotification, client_method as method};
use codex_config::schema::WindowsSandbox;
use codex_config::{Config, RequestParams};
use codex_system::facts::LACKS_ELEVATED_SANDBOX;
use serde_json::Map;

use super::blocking;
use super::call::{EarlyReply, RequestContext};
use super::config::edit_user;
use crate::background_notifier::NotificationSink;
use crate::failure::Failure;
use crate::request_path::absolute;
use crate::server::AppServer;

/// The value of `windows.sandbox` that commands obey.
const UNELEVATED: &str = "unelevated";

/// Replies, prepares, then notifies.
pub(super) async fn start_setup(
    RequestContext { server, connection }: RequestContext,
    params: WindowsSandboxSetupStartParams,
) -> Result<EarlyReply<method::WindowsSandboxSetupStart>, Failure> {
    let cwd = params.cwd.as_ref().map(absolute).transpose()?;
    let mode = params.mode;
    Ok(EarlyReply::sent_by(move |reply| async move {
        reply.accept(&WindowsSandboxSetupStartResponse { started: true });
        let outcome = blocking(move || set_up(&server, mode, cwd)).await;
        let error = outcome.err().map(|failure| failure.message().to_owned());
        let completed = WindowsSandboxSetupCompletedNotification {
            mode,
            success: error.is_none(),
            error,
        };
        connection.notify(&ServerNotification::WindowsSandboxSetupCompleted(completed));
    }))
}

fn set_up(
    server: &Arc<AppServer>,
    mode: WindowsSandboxSetupMode,
    cwd: Option<PathBuf>,
) -> Result<(), Failure> {
    let kind = match mode {
        WindowsSandboxSetupMode::Elevated => "elevated",
        WindowsSandboxSetupMode::Unelevated => "legacy",
    };
    if mode == WindowsSandboxSetupMode::Elevated && LACKS_ELEVATED_SANDBOX {
        let why = "is not possible: it needs accounts that an administrator makes; use the unelevated one";
        return Err(Failure::internal(format!(
            "{kind} Windows sandbox setup {why}"
        )));
    }
    let host = server.host();
    let cwd = cwd.unwrap_or_else(|| host.working_folder().to_owned());
    let config = configuration(server, &cwd)?;
    let commands = host.commands().map_err(failed)?;
    commands
        .set_up_sandbox(&cwd, &config.policy.sandbox_policy)
        .map_err(|error| Failure::internal(format!("{kind} Windows sandbox setup {error}")))?;
    let key = match &config.profile {
        Some(profile) => format!("profiles.{profile}.windows.sandbox"),
        None => "windows.sandbox".to_owned(),
    };
    edit_user(server, vec![(key, UNELEVATED.into())]).map(drop)
}

pub(super) async fn readiness(
    RequestContext { server, .. }: RequestContext,
    _: NoParams,
) -> Result<WindowsSandboxReadinessResponse, Failure> {
    blocking(move || {
        let is_ready = codex_sandbox::probe().restricted_token && {
            let config = configuration(&server, server.host().working_folder())?;
            config.policy.windows_sandbox == Some(WindowsSandbox::Unelevated)
        };
        let status = if is_ready {
            WindowsSandboxReadiness::Ready
        } else {
            WindowsSandboxReadiness::NotConfigured
        };
        Ok(WindowsSandboxReadinessResponse { status })
    })
    .await
}

fn configuration(server: &AppServer, cwd: &Path) -> Result<Config, Failure> {
    let configuration = server.host().configuration();
    let loaded = configuration.load(cwd, &Map::new(), &RequestParams::default());
    loaded.map(|(config, _)| config).map_err(failed)
}

fn failed(error: impl ToString) -> Failure {
    Failure::internal(error.to_string())
}
