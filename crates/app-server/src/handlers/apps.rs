//! Lists and describes apps.

use std::sync::Arc;

use codex_app_server_protocol::v2;

use super::app_lists;
use super::call::RequestContext;
use super::paging::page;
use super::{blocking, snapshot};
use crate::failure::Failure;
use crate::host::AppsAccess;
use crate::server::AppServer;

/// Empty without a ChatGPT login, and while the feature is off.
pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: v2::AppsListParams,
) -> Result<v2::AppsListResponse, Failure> {
    let access = access(&server, params.thread_id.as_deref()).await?;
    let all = match access {
        Some(access) => app_lists::load(&server, &access, params.force_refetch).await?,
        None => Vec::new(),
    };
    let (data, next_cursor) = page(all, params.cursor.as_deref(), params.limit, "apps")?;
    Ok(v2::AppsListResponse { data, next_cursor })
}

/// The apps that the account has connected.
pub(super) async fn installed(
    RequestContext { server, .. }: RequestContext,
    params: v2::AppsInstalledParams,
) -> Result<v2::AppsInstalledResponse, Failure> {
    let Some(access) = access(&server, params.thread_id.as_deref()).await? else {
        return Ok(v2::AppsInstalledResponse { apps: Vec::new() });
    };
    let known = access.catalog.accessible(&access.key);
    let known = known.filter(|_| !params.force_refresh);
    let found = app_lists::accessible(&access, known).await?;
    let rules = access.server.apps.as_ref().map(|apps| &apps.rules);
    let apps = found.iter().map(|app| {
        let enabled = rules.is_none_or(|rules| rules.allows_app(&app.id));
        v2::InstalledApp {
            id: app.id.clone(),
            callable: enabled,
            enabled,
            runtime_name: Some(codex_apps::app_slug(&app.name).replace('-', "_")),
        }
    });
    Ok(v2::AppsInstalledResponse {
        apps: apps.collect(),
    })
}

/// Describes apps by their ids. Their tools are not told.
pub(super) async fn read(
    RequestContext { server, .. }: RequestContext,
    params: v2::AppsReadParams,
) -> Result<v2::AppsReadResponse, Failure> {
    let known = match access(&server, params.thread_id.as_deref()).await? {
        Some(access) => app_lists::load(&server, &access, false).await?,
        None => Vec::new(),
    };
    let mut response = v2::AppsReadResponse {
        apps: Vec::new(),
        missing_app_ids: Vec::new(),
    };
    for id in params.app_ids {
        match known.iter().find(|app| app.id == id) {
            Some(app) => response.apps.push(metadata(app)),
            None => response.missing_app_ids.push(id),
        }
    }
    Ok(response)
}

fn metadata(app: &v2::AppInfo) -> v2::ConnectorMetadata {
    v2::ConnectorMetadata {
        id: app.id.clone(),
        description: app.description.clone(),
        distribution_channel: app.distribution_channel.clone(),
        icon_url: app.logo_url.clone(),
        icon_url_dark: app.logo_url_dark.clone(),
        install_url: app.install_url.clone(),
        name: app.name.clone(),
        plugin_display_names: app.plugin_display_names.clone(),
        tool_summaries: None,
    }
}

/// How to get apps, by the settings of a loaded thread if one is named.
pub(super) async fn access(
    server: &Arc<AppServer>,
    thread: Option<&str>,
) -> Result<Option<AppsAccess>, Failure> {
    let (cwd, overrides) = match thread {
        None => (server.host().working_folder().to_owned(), Arc::default()),
        Some(id) => {
            let snapshot = snapshot(server, id).await?;
            (snapshot.thread.cwd.into(), snapshot.overrides)
        }
    };
    let host = Arc::clone(server.host());
    blocking(move || {
        let access = host.apps(&cwd, &overrides);
        access.map_err(|error| Failure::internal(format!("failed to reload config: {error}")))
    })
    .await
}
