//! Installs and removes plugins.

use std::sync::Arc;
use std::time::Duration;

use codex_app_server_protocol::{ServerNotification, v2};
use codex_config::{ConfigEdit, MergeStrategy};
use codex_mcp_client::{McpAuthorization, McpLoginOptions, McpServerConfig};
use codex_plugins::{Marketplace, Plugin, PluginId};
use serde_json::{Value, json};

use super::blocking;
use super::call::RequestContext;
use super::fs::absolute;
use super::mcp_servers::{LOGIN_SECONDS, configured, reload_threads};
use super::plugins::{PluginView, unusable_marketplace};
use crate::failure::Failure;
use crate::host::{Host, McpSettings};
use crate::projection::wire_auth_policy;
use crate::server::AppServer;

const NO_ACCOUNT: &str = "chatgpt authentication required for remote plugin mutation";

/// A plugin that has been installed.
struct Installed {
    auth_policy: v2::PluginAuthPolicy,
    /// The names of its MCP servers.
    servers: Vec<String>,
}

pub(super) async fn install(
    RequestContext { server, .. }: RequestContext,
    params: v2::PluginInstallParams,
) -> Result<v2::PluginInstallResponse, Failure> {
    let host = Arc::clone(server.host());
    let installed = blocking(move || install_from(&*host, &params)).await?;
    if !installed.servers.is_empty() {
        let settings = configured(&server).await?;
        reload_threads(&server, &settings).await;
        log_in(&server, settings, &installed.servers);
    }
    Ok(v2::PluginInstallResponse {
        auth_policy: installed.auth_policy,
        apps_needing_auth: Vec::new(),
    })
}

fn install_from(host: &dyn Host, params: &v2::PluginInstallParams) -> Result<Installed, Failure> {
    let file = absolute(&params.marketplace_path)?;
    let failed = |error| unusable_marketplace(&error, "failed to install plugin");
    let marketplace = Marketplace::read(&file).map_err(failed)?;
    let (listed, id) = marketplace
        .installable(&params.plugin_name)
        .map_err(failed)?;
    if params.force_remote_sync {
        let message = format!("failed to enable remote plugin: {NO_ACCOUNT}");
        return Err(Failure::internal(message));
    }
    // The folder is read before it is copied, because a link may lead out of the marketplace.
    if let Err(error @ codex_plugins::PluginError::Elsewhere) = listed.read(&marketplace) {
        return Err(Failure::invalid(error.to_string()));
    }
    let view = PluginView::read(host)?;
    let active = view.store.install(&listed.folder, &id).map_err(|error| {
        if error.is_about_plugin() {
            Failure::invalid(error.to_string())
        } else {
            Failure::internal(format!("failed to install plugin: {error}"))
        }
    })?;
    let doing = "failed to persist installed plugin config";
    edit_config(host, &key_of(&id), &json!({ "enabled": true }), doing)?;
    let read = host.read_plugins();
    read.map_err(|error| Failure::internal(format!("failed to reload config: {error}")))?;
    let servers = Plugin::read(&active).map(|plugin| plugin.mcp_servers());
    let servers = servers.unwrap_or_default().into_iter();
    Ok(Installed {
        auth_policy: wire_auth_policy(listed.auth_policy),
        servers: servers.map(|server| server.name).collect(),
    })
}

/// Where the configuration has a plugin.
fn key_of(id: &PluginId) -> String {
    format!("plugins.\"{id}\"")
}

/// Replaces a value in the user's file; null removes it. `doing` is what fails otherwise.
pub(super) fn edit_config(
    host: &dyn Host,
    key: &str,
    value: &Value,
    doing: &str,
) -> Result<(), Failure> {
    let edit = ConfigEdit::from_json(key, value, MergeStrategy::Replace);
    let edited = edit.and_then(|edit| host.configuration().edit(None, None, &[edit]));
    let failed = |error| Failure::internal(format!("{doing}: {error}"));
    edited.map(drop).map_err(failed)
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
        let message = format!("failed to uninstall remote plugin: {NO_ACCOUNT}");
        return Err(Failure::internal(message));
    }
    let host = Arc::clone(server.host());
    blocking(move || {
        let view = PluginView::read(&*host)?;
        let removed = view.store.uninstall(&id);
        removed
            .map_err(|error| Failure::internal(format!("failed to uninstall plugin: {error}")))?;
        if view.is_configured(&id) {
            let doing = "failed to clear plugin config";
            edit_config(&*host, &key_of(&id), &Value::Null, doing)?;
        }
        let read = host.read_plugins();
        read.map_err(|error| Failure::internal(format!("failed to reload config: {error}")))?;
        Ok(v2::PluginUninstallResponse {})
    })
    .await
}
