//! MCP servers: lists their tools and resources, reloads their configuration, and logs in to them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_app_server_protocol::{NoParams, ServerNotification, client_method as method, v2};
use codex_core::{ReplaceMcpServers, Thread};
use codex_mcp_client::{
    CancelElicitations, McpAuthorization, McpConnector, McpError, McpLoginError, McpLoginOptions,
    McpServerConfig, RunningMcpServer, StartedMcpLogin,
};
use codex_protocol::LOCAL_ENVIRONMENT;
use codex_protocol::McpStartupStatus;
use futures::FutureExt as _;
use futures::future::join_all;

use super::call::{EarlyReply, RequestContext};
use super::paging::page;
use super::{blocking, engine, snapshot};
use crate::failure::Failure;
use crate::host::McpSettings;
use crate::server::AppServer;

/// The time limit for a server's lists. The reply leaves out servers that exceed it.
const LISTING_TIMEOUT: Duration = Duration::from_secs(5);

/// How often, and how long each time, a list waits for the servers of its thread, which it has started a second time by
/// then.
const STARTUP_LOOKS: u32 = 40;
const STARTUP_PAUSE: Duration = Duration::from_millis(25);

/// The time limit of a login.
pub(super) const LOGIN_SECONDS: i64 = 300;

/// A server to list, and how to reach it.
struct ListedServer {
    server: McpServerConfig,
    reach: Reach,
}

enum Reach {
    /// Through a temporary connection, which ends with the reply.
    Connect,
    /// Through the connection of its thread, which alone has this server.
    Thread(Thread),
    /// Not at all: it is switched off.
    Off,
}

/// Lists the configured servers, and those that only the named thread has.
pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: v2::ListMcpServerStatusParams,
) -> Result<v2::ListMcpServerStatusResponse, Failure> {
    if let Some(environment) = params.environment_id.as_deref() {
        return environment_statuses(&server, environment, params.thread_id.as_deref()).await;
    }
    let settings = match &params.thread_id {
        None => configured(&server).await?,
        Some(id) => {
            let thread = snapshot(&server, id).await?;
            configured_in(&server, thread.thread.cwd.into()).await?
        }
    };
    let switched_off = settings.disabled.iter().map(|server| server.name.clone());
    let switched_off: HashSet<String> = switched_off.collect();
    let of_plugins: BTreeMap<String, String> = (settings.enabled.iter())
        .filter_map(|own| Some((own.server.name.clone(), own.plugin_id.clone()?)))
        .collect();
    let listed = |reach: fn() -> Reach| {
        move |server| ListedServer {
            server,
            reach: reach(),
        }
    };
    let enabled = settings
        .enabled
        .into_iter()
        .map(|configured| configured.server)
        .map(listed(|| Reach::Connect));
    let disabled = settings.disabled.into_iter().map(listed(|| Reach::Off));
    let mut all: Vec<_> = enabled.chain(disabled).collect();
    if let Some(id) = &params.thread_id {
        let own = servers_of_thread(&engine(&server, id).await?, &all);
        all.extend(own);
    }
    if let Some(name) = &params.server_name {
        all.retain(|listed| listed.server.name == *name);
    }
    all.sort_by(|left, right| left.server.name.cmp(&right.server.name));
    let cursor = params.cursor.as_deref();
    let (shown, next_cursor) = page(all, cursor, params.limit, "MCP servers")?;
    let detail = params.detail.unwrap_or(v2::McpServerStatusDetail::Full);
    let asked = shown
        .into_iter()
        .map(|listed| status(&settings.connector, listed, detail));
    let mut data = join_all(asked).await;
    for server in &mut data {
        server.plugin_id = of_plugins.get(&server.name).cloned();
    }
    if let Some(id) = &params.thread_id {
        let mut connections = started(&server, id).await?;
        note_ended(&engine(&server, id).await?, &mut connections).await;
        for server in &mut data {
            let is_off = switched_off.contains(&server.name);
            let status =
                connection_status(connections.get(&server.name), is_off, server.auth_status);
            server.runtime_status = Some(status);
        }
    }
    Ok(v2::ListMcpServerStatusResponse { data, next_cursor })
}

/// The servers of a thread that are not among the configured ones, because the request that opened it brought them.
fn servers_of_thread(thread: &Thread, configured: &[ListedServer]) -> Vec<ListedServer> {
    let is_known = |name: &str| configured.iter().any(|listed| listed.server.name == name);
    let own = thread.mcp_servers().into_iter();
    let own = own.filter(|server| !is_known(&server.name));
    own.map(|server| ListedServer {
        server,
        reach: Reach::Thread(thread.clone()),
    })
    .collect()
}

async fn status(
    connector: &McpConnector,
    ListedServer { server, reach }: ListedServer,
    detail: v2::McpServerStatusDetail,
) -> v2::McpServerStatus {
    let start = async {
        match &reach {
            Reach::Connect => {
                let started = connector.start(&server, Arc::new(CancelElicitations));
                started.await.map(Some).map_err(|error| error.to_string())
            }
            Reach::Thread(thread) => {
                let running = thread.running_mcp_server(&server.name);
                match tokio::time::timeout(LISTING_TIMEOUT, running).await {
                    Ok(running) => running.map(Some).map_err(|error| error.to_string()),
                    Err(_) => Ok(None),
                }
            }
            Reach::Off => Ok(None),
        }
    };
    let authorization = async {
        let found = tokio::time::timeout(LISTING_TIMEOUT, connector.authorization(&server));
        found.await.unwrap_or(McpAuthorization::Unsupported)
    };
    let (running, authorization) = futures::join!(start, authorization);
    let mut status = v2::McpServerStatus {
        auth_status: match authorization {
            McpAuthorization::Unsupported => v2::McpAuthStatus::Unsupported,
            McpAuthorization::NotLoggedIn => v2::McpAuthStatus::NotLoggedIn,
            McpAuthorization::BearerToken => v2::McpAuthStatus::BearerToken,
            McpAuthorization::Login => v2::McpAuthStatus::OAuth,
        },
        name: server.name.clone(),
        environment_id: None,
        tools: BTreeMap::new(),
        resources: Vec::new(),
        resource_templates: Vec::new(),
        runtime_status: None,
        plugin_id: None,
        http_origin: server.http_origin(),
        server_info: None,
        server_capabilities: None,
        tool_list_meta: None,
        tools_error: running.as_ref().err().cloned(),
    };
    if let Ok(Some(RunningMcpServer {
        connection,
        tools,
        tool_list_meta,
    })) = running
    {
        let facts = connection.facts().await;
        let info = facts.info.map(serde_json::from_value);
        status.server_info = info.and_then(Result::ok);
        status.server_capabilities = facts.capabilities;
        status.tool_list_meta = tool_list_meta;
        if detail == v2::McpServerStatusDetail::Full {
            let limit = server.request_timeout.min(LISTING_TIMEOUT);
            let (resources, templates) = futures::join!(
                tokio::time::timeout(LISTING_TIMEOUT, connection.all_resources(limit)),
                tokio::time::timeout(LISTING_TIMEOUT, connection.all_resource_templates(limit)),
            );
            status.resources = resources.ok().and_then(Result::ok).unwrap_or_default();
            status.resource_templates = templates.ok().and_then(Result::ok).unwrap_or_default();
        }
        let tools = tools.into_iter().map(|tool| (tool.name.clone(), tool));
        status.tools = tools.collect();
    }
    status
}

/// Servers that have started and ended since then have failed.
async fn note_ended(thread: &Thread, statuses: &mut HashMap<String, McpStartupStatus>) {
    for (name, status) in statuses {
        if *status != McpStartupStatus::Ready {
            continue;
        }
        let found = thread.mcp_server(name).await;
        if found.is_ok_and(|(_, connection)| connection.is_closed()) {
            *status = McpStartupStatus::Failed {
                error: McpError::Closed.to_string(),
            };
        }
    }
}

fn connection_status(
    status: Option<&McpStartupStatus>,
    is_off: bool,
    authorization: v2::McpAuthStatus,
) -> v2::McpServerConnectionStatus {
    use v2::McpServerConnectionStatus as Status;
    match status {
        _ if is_off => Status::Disabled,
        None => Status::NotStarted,
        Some(McpStartupStatus::Starting) => Status::Starting,
        Some(McpStartupStatus::Ready) => Status::Connected,
        Some(McpStartupStatus::Cancelled) => Status::Cancelled,
        Some(McpStartupStatus::Failed { .. }) => match authorization {
            v2::McpAuthStatus::NotLoggedIn => Status::AuthenticationRequired,
            _ => Status::Failed,
        },
    }
}

/// Loaded threads use the new servers from their next turn on.
pub(super) async fn reload(
    RequestContext { server, .. }: RequestContext,
    _: NoParams,
) -> Result<v2::McpServerRefreshResponse, Failure> {
    reload_threads(&server, &configured(&server).await?).await;
    Ok(v2::McpServerRefreshResponse {})
}

/// Gives all loaded threads these servers.
pub(super) async fn reload_threads(server: &AppServer, settings: &McpSettings) {
    for thread in server.threads() {
        let servers = settings.enabled.clone();
        let change = thread.send(|actor| {
            let change = actor.thread.send(ReplaceMcpServers(servers));
            change.map(|_| ()).boxed()
        });
        change.await;
    }
}

/// The servers of a machine. The configured ones belong to none.
async fn environment_statuses(
    server: &Arc<AppServer>,
    environment: &str,
    thread: Option<&str>,
) -> Result<v2::ListMcpServerStatusResponse, Failure> {
    if let Some(id) = thread {
        snapshot(server, id).await?;
    }
    let is_known =
        environment == LOCAL_ENVIRONMENT || server.host().environments().has(environment);
    if !is_known {
        return Err(Failure::invalid(format!(
            "there is no environment `{environment}`"
        )));
    }
    Ok(v2::ListMcpServerStatusResponse {
        data: Vec::new(),
        next_cursor: None,
    })
}

/// There is no server of this name on the machine that was asked for.
pub(super) struct NotOnMachine(pub(super) String);

/// Whether a server is on the machine that is asked for. The configured ones belong to none.
pub(super) fn check_environment(
    server: &str,
    environment: Option<&str>,
) -> Result<(), NotOnMachine> {
    match environment {
        None => Ok(()),
        Some(environment) => Err(NotOnMachine(format!(
            "unknown MCP server '{server}' in environment `{environment}`"
        ))),
    }
}

/// Starts a login. Its end is sent to all clients as a notification.
pub(super) async fn log_in(
    RequestContext { server, .. }: RequestContext,
    params: v2::McpServerOauthLoginParams,
) -> Result<EarlyReply<method::McpServerOauthLogin>, Failure> {
    let (name, thread_id) = (params.name.clone(), params.thread_id.clone());
    let started = begin(&server, params).await?;
    let login_id = Some(uuid::Uuid::now_v7().to_string());
    let response = v2::McpServerOauthLoginResponse {
        login_id: login_id.clone(),
        authorization_url: started.authorization_url,
    };
    let completed = async move {
        let lost = || Err(McpLoginError::Failed("the login was given up".to_owned()));
        let outcome = started.outcome.await.unwrap_or_else(|_| lost());
        let completed = v2::McpServerOauthLoginCompletedNotification {
            login_id,
            name,
            success: outcome.is_ok(),
            error: outcome.err().map(|error| error.to_string()),
            thread_id,
        };
        server.broadcast(&ServerNotification::McpServerOauthLoginCompleted(completed));
    };
    Ok(EarlyReply::then(response, || drop(tokio::spawn(completed))))
}

async fn begin(
    server: &Arc<AppServer>,
    params: v2::McpServerOauthLoginParams,
) -> Result<StartedMcpLogin, Failure> {
    let name = params.name;
    check_environment(&name, params.environment_id.as_deref())
        .map_err(|error| Failure::invalid(error.0))?;
    let settings = configured_for(server, params.thread_id.as_deref()).await?;
    let enabled = settings.enabled.iter().map(|configured| &configured.server);
    let mut all = enabled.chain(&settings.disabled);
    let found = all.find(|server| server.name == name);
    let found =
        found.ok_or_else(|| Failure::invalid(format!("No MCP server named '{name}' found.")))?;
    let seconds = params.timeout_secs.unwrap_or(LOGIN_SECONDS).max(1);
    let options = McpLoginOptions {
        scopes: params.scopes,
        time: Duration::from_secs(seconds.unsigned_abs()),
        registers_itself: false,
    };
    let started = settings.connector.log_in(found, options).await;
    started.map_err(|error| match error {
        McpLoginError::Program => Failure::invalid(error.to_string()),
        error => Failure::internal(format!("failed to login to MCP server '{name}': {error}")),
    })
}

/// The servers for the folder of a loaded thread, if one is named.
async fn configured_for(
    server: &Arc<AppServer>,
    thread: Option<&str>,
) -> Result<McpSettings, Failure> {
    let Some(id) = thread else {
        return configured(server).await;
    };
    let snapshot = snapshot(server, id).await?;
    configured_in(server, snapshot.thread.cwd.into()).await
}

/// The connections of a thread. Waits briefly for those that are just being started.
async fn started(
    server: &Arc<AppServer>,
    id: &str,
) -> Result<HashMap<String, McpStartupStatus>, Failure> {
    let is_starting = |status: &McpStartupStatus| matches!(status, McpStartupStatus::Starting);
    for _ in 0..STARTUP_LOOKS {
        let connections = snapshot(server, id).await?.mcp_servers;
        if !connections.values().any(is_starting) {
            return Ok(connections);
        }
        tokio::time::sleep(STARTUP_PAUSE).await;
    }
    Ok(snapshot(server, id).await?.mcp_servers)
}

/// The servers for the working folder of the app-server.
pub(super) async fn configured(server: &Arc<AppServer>) -> Result<McpSettings, Failure> {
    let cwd = server.host().working_folder().to_owned();
    configured_in(server, cwd).await
}

async fn configured_in(server: &Arc<AppServer>, cwd: PathBuf) -> Result<McpSettings, Failure> {
    let host = Arc::clone(server.host());
    let read = move || {
        let settings = host.mcp_servers(&cwd);
        settings.map_err(|reason| Failure::internal(format!("failed to reload config: {reason}")))
    };
    blocking(read).await
}
