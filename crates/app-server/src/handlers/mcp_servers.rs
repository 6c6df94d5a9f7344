//! MCP servers: what they offer, reading their configuration anew, and logins to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::{NoParams, v2};
use codex_mcp_client::{Connector, NoQuestions, Running, Server as McpServer, Way};
use futures::future::join_all;

use super::blocking;
use super::paging::page;
use crate::connection::Responder;
use crate::failure::Failure;
use crate::host::McpSettings;
use crate::server::Server;

/// Asks servers over connections of its own, which end with the reply.
pub(super) async fn list(
    server: Arc<Server>,
    params: v2::ListMcpServerStatusParams,
    reply: Responder<method::ListMcpServerStatus>,
) {
    let listed = async {
        let settings = configured(&server).await?;
        let enabled = settings.enabled.into_iter();
        let enabled = enabled.map(|configured| (configured.server, true));
        let disabled = settings.disabled.into_iter().map(|server| (server, false));
        let mut all: Vec<_> = enabled.chain(disabled).collect();
        all.sort_by(|(left, _), (right, _)| left.name.cmp(&right.name));
        let cursor = params.cursor.as_deref();
        let (shown, next_cursor) = page(all, cursor, params.limit, "MCP servers")?;
        let asked = shown
            .into_iter()
            .map(|(server, is_enabled)| status(&settings.connector, server, is_enabled));
        let data = join_all(asked).await;
        Ok(v2::ListMcpServerStatusResponse { data, next_cursor })
    };
    reply.reply(listed.await);
}

async fn status(connector: &Connector, server: McpServer, is_enabled: bool) -> v2::McpServerStatus {
    let running = match is_enabled {
        true => connector.start(&server, Arc::new(NoQuestions)).await.ok(),
        false => None,
    };
    let mut status = v2::McpServerStatus {
        auth_status: authorisation(&server),
        name: server.name.clone(),
        tools: BTreeMap::new(),
        resources: Vec::new(),
        resource_templates: Vec::new(),
    };
    if let Some(Running {
        connection, tools, ..
    }) = running
    {
        let limit = server.request_timeout;
        let (resources, templates) = futures::join!(
            connection.all_resources(limit),
            connection.all_resource_templates(limit),
        );
        status.resources = resources.unwrap_or_default();
        status.resource_templates = templates.unwrap_or_default();
        let tools = tools.into_iter().map(|tool| (tool.name.clone(), tool));
        status.tools = tools.collect();
    }
    status
}

/// Logins to servers are not supported: a token is configured, or there is none.
fn authorisation(server: &McpServer) -> v2::McpAuthStatus {
    let Way::Http {
        bearer_token_variable,
        headers,
        headers_of_variables,
        ..
    } = &server.way
    else {
        return v2::McpAuthStatus::Unsupported;
    };
    let mut names = headers.keys().chain(headers_of_variables.keys());
    let has_header = names.any(|name| name.eq_ignore_ascii_case("authorization"));
    match bearer_token_variable.is_some() || has_header {
        true => v2::McpAuthStatus::BearerToken,
        false => v2::McpAuthStatus::Unsupported,
    }
}

/// Every loaded thread takes the servers over when its next turn starts.
pub(super) async fn reload(
    server: Arc<Server>,
    _params: NoParams,
    reply: Responder<method::McpServerRefresh>,
) {
    match configured(&server).await {
        Ok(settings) => {
            for thread in server.threads() {
                thread.set_mcp_servers(settings.enabled.clone()).await;
            }
            reply.accept(&v2::McpServerRefreshResponse {});
        }
        Err(failure) => reply.refuse(failure),
    }
}

pub(super) async fn log_in(
    server: Arc<Server>,
    params: v2::McpServerOauthLoginParams,
    reply: Responder<method::McpServerOauthLogin>,
) {
    let failure = match configured(&server).await {
        Ok(settings) => no_login(&settings, &params.name),
        Err(failure) => failure,
    };
    reply.refuse(failure);
}

fn no_login(settings: &McpSettings, name: &str) -> Failure {
    let enabled = settings.enabled.iter().map(|configured| &configured.server);
    let mut all = enabled.chain(&settings.disabled);
    match all.find(|server| server.name == name) {
        None => Failure::invalid(format!("No MCP server named '{name}' found.")),
        Some(server) if matches!(server.way, Way::Program { .. }) => {
            Failure::invalid("OAuth login is only supported for streamable HTTP servers.")
        }
        Some(_) => Failure::internal(format!(
            "failed to login to MCP server '{name}': logins are not supported by this version; \
             configure `bearer_token_env_var`"
        )),
    }
}

async fn configured(server: &Arc<Server>) -> Result<McpSettings, Failure> {
    let host = Arc::clone(server.host());
    let read = move || {
        let settings = host.mcp_servers();
        settings.map_err(|reason| Failure::internal(format!("failed to reload config: {reason}")))
    };
    blocking(read).await
}
