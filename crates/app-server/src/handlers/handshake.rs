//! `initialize`, and the method that clients try their opt-in with.

use std::sync::Arc;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    InitializeParams, InitializeResponse, MockExperimentalMethodParams,
    MockExperimentalMethodResponse,
};
use codex_protocol::AbsolutePathBuf;

use crate::connection::Responder;
use crate::failure::Failure;
use crate::host::ClientName;
use crate::projection::wire_warning;
use crate::server::Server;

pub(crate) fn initialize(
    server: &Server,
    params: InitializeParams,
    reply: Responder<method::Initialize>,
) {
    let name = params.client_info.name.clone();
    if !name
        .bytes()
        .all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
    {
        let message =
            format!("Invalid clientInfo.name: '{name}'. Must be a valid HTTP header value.");
        return reply.refuse(Failure::invalid(message));
    }
    let version = params.client_info.version.clone();
    if !reply.connection().initialize(params) {
        return reply.refuse(Failure::invalid("Already initialized"));
    }
    let connection = Arc::clone(reply.connection());
    let identity = server.host().identity(&ClientName { name, version });
    reply.accept(&InitializeResponse {
        user_agent: identity.user_agent,
        codex_home: AbsolutePathBuf(identity.home.display().to_string()),
        platform_family: std::env::consts::FAMILY.to_owned(),
        platform_os: std::env::consts::OS.to_owned(),
    });
    for warning in server.host().warnings() {
        let warning = wire_warning(warning.clone());
        connection.notify(&ServerNotification::ConfigWarning(warning));
    }
}

pub(crate) fn mock(
    params: MockExperimentalMethodParams,
    reply: Responder<method::MockExperimentalMethod>,
) {
    reply.accept(&MockExperimentalMethodResponse {
        echoed: params.value,
    });
}
