//! `initialize`, and the method that tests the experimental opt-in.

use codex_app_server_protocol::v2::{
    InitializeParams, InitializeResponse, MockExperimentalMethodParams,
    MockExperimentalMethodResponse,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_projection::wire_warning;
use codex_protocol::AbsolutePathBuf;

use super::call::{EarlyReply, RequestContext};
use crate::background_notifier::NotificationSink;
use crate::failure::Failure;
use crate::host::ClientName;

pub(super) async fn initialize(
    RequestContext { server, connection }: RequestContext,
    params: InitializeParams,
) -> Result<EarlyReply<method::Initialize>, Failure> {
    let name = params.client_info.name.clone();
    if !name
        .bytes()
        .all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
    {
        let message =
            format!("Invalid clientInfo.name: '{name}'. Must be a valid HTTP header value.");
        return Err(Failure::invalid(message));
    }
    let version = params.client_info.version.clone();
    let is_first = connection.initialize(params).map_err(|error| {
        Failure::invalid(format!("Invalid capabilities.clientRelease: {error}"))
    })?;
    if !is_first {
        return Err(Failure::invalid("Already initialized"));
    }
    let identity = server.host().identity(&ClientName { name, version });
    let response = InitializeResponse {
        user_agent: identity.user_agent,
        codex_home: AbsolutePathBuf(identity.home.display().to_string()),
        platform_family: std::env::consts::FAMILY.to_owned(),
        platform_os: std::env::consts::OS.to_owned(),
    };
    let remote_control = if connection.dialect().has_remote_control() {
        let server = std::sync::Arc::clone(&server);
        let status = super::blocking(move || super::remote_control::notification(&server));
        status.await.ok()
    } else {
        None
    };
    Ok(EarlyReply::then(response, move || {
        super::marketplace_updates::start(&server);
        if let Some(status) = remote_control {
            connection.notify(&ServerNotification::RemoteControlStatusChanged(status));
        }
        for warning in server.host().warnings() {
            let warning = wire_warning(warning.clone());
            connection.notify(&ServerNotification::ConfigWarning(warning));
        }
    }))
}

pub(super) async fn mock(
    _: RequestContext,
    params: MockExperimentalMethodParams,
) -> Result<MockExperimentalMethodResponse, Failure> {
    Ok(MockExperimentalMethodResponse {
        echoed: params.value,
    })
}
