//! `remoteControl/*`: always disabled, since it requires a vendor account.

use std::path::Path;

use codex_app_server_protocol::{NoParams, v2};

use super::blocking;
use super::call::RequestContext;
use crate::failure::Failure;
use crate::server::AppServer;

/// The file with the id of this installation, in the home folder. Other releases use the same file.
const INSTALLATION: &str = "installation_id";

fn needs_account() -> Failure {
    Failure::invalid("remote control requires ChatGPT authentication")
}

pub(super) async fn status(
    RequestContext { server, .. }: RequestContext,
    _: NoParams,
) -> Result<v2::RemoteControlStatusReadResponse, Failure> {
    blocking(move || {
        let status = notification(&server)?;
        Ok(v2::RemoteControlStatusReadResponse {
            status: status.status,
            server_name: status.server_name,
            installation_id: status.installation_id,
            environment_id: status.environment_id,
        })
    })
    .await
}

/// The notification that follows the handshake. Reads the installation id, and creates it the first
/// time.
pub(super) fn notification(
    server: &AppServer,
) -> Result<v2::RemoteControlStatusChangedNotification, Failure> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Ok(v2::RemoteControlStatusChangedNotification {
        status: v2::RemoteControlConnectionStatus::Disabled,
        server_name: match name.trim() {
            "" => "localhost".to_owned(),
            name => name.to_owned(),
        },
        installation_id: installation_id(server.host().store().home())?,
        environment_id: None,
    })
}

fn installation_id(home: &Path) -> Result<String, Failure> {
    let path = home.join(INSTALLATION);
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    if uuid::Uuid::parse_str(known.trim()).is_ok() {
        return Ok(known.trim().to_owned());
    }
    let id = uuid::Uuid::new_v4().to_string();
    codex_private_files::write(&path, id.as_bytes()).map_err(|error| {
        Failure::internal(format!("failed to store the installation id: {error}"))
    })?;
    Ok(id)
}

pub(super) async fn enable(_: RequestContext, _: NoParams) -> Failure {
    needs_account()
}

pub(super) async fn disable(_: RequestContext, _: NoParams) -> Failure {
    needs_account()
}

pub(super) async fn clients(_: RequestContext, _: v2::RemoteControlClientsListParams) -> Failure {
    needs_account()
}

pub(super) async fn revoke(_: RequestContext, _: v2::RemoteControlClientsRevokeParams) -> Failure {
    needs_account()
}

pub(super) async fn start_pairing(
    _: RequestContext,
    _: v2::RemoteControlPairingStartParams,
) -> Failure {
    Failure::invalid("remote control pairing requires remote control to be enabled")
}

pub(super) async fn pairing_status(
    _: RequestContext,
    params: v2::RemoteControlPairingStatusParams,
) -> Failure {
    if params.pairing_code.is_none() && params.manual_pairing_code.is_none() {
        return Failure::invalid(
            "remoteControl/pairing/status requires pairingCode or manualPairingCode",
        );
    }
    Failure::invalid("remote control pairing requires remote control to be enabled")
}
