//! Loads the list of apps from its sources: the directory, and the tools that the account has connected.

use std::sync::Arc;
use std::time::Duration;

use codex_app_server_protocol::{ServerNotification, v2};
use codex_apps::{App, accessible_apps, merge, request_directory};
use codex_mcp_client::CancelElicitations;
use codex_projection::wire_app;

use crate::failure::Failure;
use crate::host::AppsAccess;
use crate::server::AppServer;

/// The time limit for both sources.
const LIMIT: Duration = Duration::from_secs(90);

/// Loads the list of apps. Clients are told of each state of it that is worth showing.
pub(super) async fn load(
    server: &AppServer,
    access: &AppsAccess,
    force: bool,
) -> Result<Vec<v2::AppInfo>, Failure> {
    let loaded = tokio::time::timeout(LIMIT, load_sources(server, access, force)).await;
    let late = |_| Failure::internal("timed out waiting for app lists after 90 seconds");
    loaded.map_err(late)?
}

/// The apps that are known so far.
#[derive(Default)]
struct KnownApps {
    directory: Option<Arc<Vec<App>>>,
    accessible: Option<Arc<Vec<App>>>,
}

async fn load_sources(
    server: &AppServer,
    access: &AppsAccess,
    force: bool,
) -> Result<Vec<v2::AppInfo>, Failure> {
    let (catalog, key) = (&access.catalog, &access.key);
    let mut known = KnownApps {
        directory: catalog.directory(key),
        accessible: catalog.accessible(key),
    };
    let is_known = known.directory.is_some() && known.accessible.is_some();
    let is_fresh = !force && is_known;
    if is_fresh {
        return Ok(known.list(access));
    }
    // What is half new is not told.
    let is_refetch = force && is_known;
    let mut shown = Vec::new();
    if is_refetch {
        shown = known.list(access);
        let updated = updated(&shown);
        server.broadcast_to(&updated, |client| client.dialect().tells_known_apps());
    } else {
        known.broadcast_changes(server, access, &mut shown);
    }
    let old = |kept: &Option<Arc<Vec<App>>>| kept.clone().filter(|_| !force);
    let directory = directory(access, old(&known.directory));
    let accessible = accessible(access, old(&known.accessible));
    tokio::pin!(directory, accessible);
    let (mut has_directory, mut has_accessible) = (false, false);
    while !(has_directory && has_accessible) {
        tokio::select! {
            found = &mut directory, if !has_directory => {
                known.directory = Some(found?);
                has_directory = true;
            }
            found = &mut accessible, if !has_accessible => {
                known.accessible = Some(found?);
                has_accessible = true;
            }
        }
        if !is_refetch {
            known.broadcast_changes(server, access, &mut shown);
        }
    }
    let list = known.list(access);
    if is_refetch {
        let has_changed = list != shown;
        server.broadcast_to(&updated(&list), |client| {
            has_changed || !client.dialect().tells_known_apps()
        });
    }
    Ok(list)
}

fn updated(list: &[v2::AppInfo]) -> ServerNotification {
    let data = list.to_vec();
    ServerNotification::AppListUpdated(v2::AppListUpdatedNotification { data })
}

impl KnownApps {
    fn list(&self, access: &AppsAccess) -> Vec<v2::AppInfo> {
        let apps = |kept: &Option<Arc<Vec<App>>>| kept.clone().unwrap_or_default();
        let (directory, accessible) = (apps(&self.directory), apps(&self.accessible));
        let of_plugins = access.plugins.iter().flat_map(|plugin| &plugin.apps);
        let of_plugins: Vec<&str> = of_plugins.map(String::as_str).collect();
        let merged = merge(&directory, &accessible, &of_plugins);
        let rules = access.server.apps.as_ref().map(|apps| &apps.rules);
        let wire = |app: App| {
            let is_enabled = rules.is_none_or(|rules| rules.allows_app(&app.id));
            let plugins = access.plugins.iter();
            let named = plugins.filter(|plugin| plugin.apps.contains(&app.id));
            let names = named.map(|plugin| plugin.display_name.clone()).collect();
            wire_app(app, is_enabled, names)
        };
        merged.into_iter().map(wire).collect()
    }

    /// Tells clients of the list, if it has changed and either has connected apps or is complete.
    fn broadcast_changes(
        &self,
        server: &AppServer,
        access: &AppsAccess,
        shown: &mut Vec<v2::AppInfo>,
    ) {
        let list = self.list(access);
        let is_complete = self.directory.is_some() && self.accessible.is_some();
        let is_worth_it = is_complete || list.iter().any(|app| app.is_accessible);
        if is_worth_it && list != *shown {
            shown.clone_from(&list);
            server.broadcast(&updated(&list));
        }
    }
}

pub(super) async fn directory(
    access: &AppsAccess,
    known: Option<Arc<Vec<App>>>,
) -> Result<Arc<Vec<App>>, Failure> {
    if let Some(known) = known {
        return Ok(known);
    }
    let found = request_directory(&access.http, &access.directory).await;
    let found =
        found.map_err(|error| Failure::internal(format!("failed to list apps: {error}")))?;
    Ok(access.catalog.keep_directory(&access.key, found))
}

/// The connected apps, over a connection for this request.
pub(super) async fn accessible(
    access: &AppsAccess,
    known: Option<Arc<Vec<App>>>,
) -> Result<Arc<Vec<App>>, Failure> {
    if let Some(known) = known {
        return Ok(known);
    }
    let server = &access.server.server;
    let started = access.connector.start(server, Arc::new(CancelElicitations));
    let running = started
        .await
        .map_err(|error| Failure::internal(format!("failed to load accessible apps: {error}")))?;
    if let Some(apps) = &access.server.apps {
        let (cache, tools) = (apps.cache.clone(), running.tools.clone());
        drop(tokio::task::spawn_blocking(move || cache.store(&tools)));
    }
    let found = accessible_apps(&running.tools);
    Ok(access.catalog.keep_accessible(&access.key, found))
}
