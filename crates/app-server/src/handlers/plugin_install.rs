//! Installs and removes plugins.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use codex_app_server_protocol::{ServerNotification, v2};
use codex_mcp_client::{McpAuthorization, McpLoginOptions, McpServerConfig};
use codex_plugins::{Marketplace, Plugin, PluginId};
use codex_projection::wire_auth_policy;

use super::apps::access;
use super::blocking;
use super::call::RequestContext;
use super::mcp_servers::{LOGIN_SECONDS, configured, reload_threads};
use super::plugin_apps::needing_auth;
use super::plugin_folder::ChosenPlugin;
use super::plugin_settings;
use super::plugin_view::{PluginView, reading, unusable_marketplace};
use super::remote_plugins::{RemoteChange, change};
use crate::failure::Failure;
use crate::host::{Host, McpSettings};
use crate::request_path::absolute;
use crate::server::AppServer;

/// What an installed plugin has that people may need to log in to.
struct Logins {
    /// The names of its MCP servers.
    servers: Vec<String>,
    /// The ids of its apps.
    apps: Vec<String>,
}

pub(super) async fn install(
    RequestContext { server, .. }: RequestContext,
    params: v2::PluginInstallParams,
) -> Result<v2::PluginInstallResponse, Failure> {
    let host = Arc::clone(server.host());
    let force_remote_sync = params.force_remote_sync;
    let file = absolute(&params.marketplace_path)?;
    let path = file.clone();
    let chosen = reading(&server, &file, move || chosen(&path, &params.plugin_name)).await?;
    let chosen = Arc::new(chosen);
    if force_remote_sync {
        let access = access(&server, None).await?;
        let enabled = change(access.as_ref(), &chosen.id, RemoteChange::Enable).await;
        enabled.map_err(|error| {
            Failure::internal(format!("failed to enable remote plugin: {error}"))
        })?;
    }
    let folder = chosen.install(&server).await?;
    let id = chosen.id.clone();
    let logins = blocking(move || enable(&*host, &id, &folder)).await?;
    if !logins.servers.is_empty() {
        let settings = configured(&server).await?;
        reload_threads(&server, &settings).await;
        log_in(&server, settings, &logins.servers);
    }
    Ok(v2::PluginInstallResponse {
        auth_policy: wire_auth_policy(chosen.listed.auth_policy),
        apps_needing_auth: needing_auth(&server, &logins.apps).await,
    })
}

/// The plugin that a request means, if it may be installed.
fn chosen(file: &Path, name: &str) -> Result<ChosenPlugin, Failure> {
    let failed = |error| unusable_marketplace(&error, "failed to install plugin");
    let marketplace = Marketplace::read(file).map_err(failed)?;
    let (listed, id) = marketplace.installable(name).map_err(failed)?;
    let listed = listed.clone();
    Ok(ChosenPlugin::new(marketplace, listed, id))
}

/// Enables a plugin that has been installed in `folder`.
fn enable(host: &dyn Host, id: &PluginId, folder: &Path) -> Result<Logins, Failure> {
    plugin_settings::enable(host, id)?;
    let read = host.read_plugins();
    read.map_err(|error| Failure::internal(format!("failed to reload config: {error}")))?;
    let plugin = Plugin::read(folder).ok();
    let servers = plugin.as_ref().map(Plugin::mcp_servers).unwrap_or_default();
    Ok(Logins {
        servers: servers.into_iter().map(|server| server.name).collect(),
        apps: plugin.as_ref().map(Plugin::apps).unwrap_or_default(),
    })
}

/// Starts logins to the HTTP servers of a plugin that offer them. Each opens a page, and its end is sent to all clients.
fn log_in(server: &Arc<AppServer>, settings: McpSettings, names: &[String]) {
    for configured in settings.enabled {
        let config = configured.server;
        if names.contains(&config.name) {
            let (server, connector) = (Arc::clone(server), settings.connector.clone());
            tokio::spawn(async move {
                if connector.authorization(&config).await == McpAuthorization::NotLoggedIn {
                    log_in_to(&server, &connector, &config).await;
                }
            });
        }
    }
}

async fn log_in_to(
    server: &AppServer,
    connector: &codex_mcp_client::McpConnector,
    config: &McpServerConfig,
) {
    let options = McpLoginOptions {
        scopes: None,
        time: Duration::from_secs(LOGIN_SECONDS.unsigned_abs()),
        registers_itself: false,
    };
    let error = match connector.log_in(config, options).await {
        Ok(started) => {
            server.host().open_page(&started.authorization_url);
            match started.outcome.await {
                Ok(outcome) => outcome.err().map(|error| error.to_string()),
                Err(_) => Some("the login was given up".to_owned()),
            }
        }
        Err(error) => Some(error.to_string()),
    };
    let completed = v2::McpServerOauthLoginCompletedNotification {
        login_id: None,
        name: config.name.clone(),
        success: error.is_none(),
        error,
        thread_id: None,
    };
    server.broadcast(&ServerNotification::McpServerOauthLoginCompleted(completed));
}

/// Also succeeds for a plugin that is not installed.
pub(super) async fn uninstall(
    RequestContext { server, .. }: RequestContext,
    params: v2::PluginUninstallParams,
) -> Result<v2::PluginUninstallResponse, Failure> {
    let id = PluginId::parse(&params.plugin_id);
    let id = id.map_err(|error| Failure::invalid(error.to_string()))?;
    if params.force_remote_sync {
        let access = access(&server, None).await?;
        let removed = change(access.as_ref(), &id, RemoteChange::Uninstall).await;
        let failed =
            |error| Failure::internal(format!("failed to uninstall remote plugin: {error}"));
        removed.map_err(failed)?;
    }
    let host = Arc::clone(server.host());
    blocking(move || {
        let view = PluginView::read(&*host)?;
        let removed = view.store.uninstall(&id);
        removed
            .map_err(|error| Failure::internal(format!("failed to uninstall plugin: {error}")))?;
        if view.is_configured(&id) {
            plugin_settings::forget(&*host, &id)?;
        }
        let read = host.read_plugins();
        read.map_err(|error| Failure::internal(format!("failed to reload config: {error}")))?;
        Ok(v2::PluginUninstallResponse {})
    })
    .await
}
