//! MCP servers, of which this version runs none: what is asked about them is answered as long as none is
//! configured, and refused otherwise.

use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::{NoParams, v2};

use super::blocking;
use super::paging::page;
use crate::connection::Responder;
use crate::failure::Failure;
use crate::server::Server;

pub(super) async fn list(
    server: Arc<Server>,
    params: v2::ListMcpServerStatusParams,
    reply: Responder<method::ListMcpServerStatus>,
) {
    let list = move || {
        none_configured(&server)?;
        let cursor = params.cursor.as_deref();
        let (data, next_cursor) = page(Vec::new(), cursor, params.limit, "MCP servers")?;
        Ok(v2::ListMcpServerStatusResponse { data, next_cursor })
    };
    reply.reply(blocking(list).await);
}

pub(super) async fn reload(
    server: Arc<Server>,
    _params: NoParams,
    reply: Responder<method::McpServerRefresh>,
) {
    let reload = move || none_configured(&server).map(|()| v2::McpServerRefreshResponse {});
    reply.reply(blocking(reload).await);
}

pub(super) async fn log_in(
    server: Arc<Server>,
    params: v2::McpServerOauthLoginParams,
    reply: Responder<method::McpServerOauthLogin>,
) {
    let name = params.name;
    let refuse = move || match configured(&server)?.contains(&name) {
        true => Err(Failure::internal(format!(
            "MCP servers are not supported by this version (asked for: {name})"
        ))),
        false => Err(Failure::invalid(format!(
            "No MCP server named '{name}' found."
        ))),
    };
    reply.reply(blocking(refuse).await);
}

fn none_configured(server: &Server) -> Result<(), Failure> {
    let names = configured(server)?;
    if names.is_empty() {
        return Ok(());
    }
    let names = names.join(", ");
    let message = format!("MCP servers are not supported by this version (configured: {names})");
    Err(Failure::internal(message))
}

/// The names of the servers that the configuration has.
fn configured(server: &Server) -> Result<Vec<String>, Failure> {
    let config = server.host().configuration().without_projects();
    let config =
        config.map_err(|error| Failure::internal(format!("failed to reload config: {error}")))?;
    Ok(config.mcp.servers.into_keys().collect())
}
