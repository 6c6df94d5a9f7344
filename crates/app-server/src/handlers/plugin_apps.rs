//! The apps of a plugin, with what is known about them and the account.

use std::sync::Arc;
use std::time::Duration;

use codex_app_server_protocol::v2;
use codex_apps::merge;
use codex_projection::wire_app_summary;

use super::app_lists;
use super::apps::access;
use crate::host::AppsAccess;
use crate::server::AppServer;

/// How long a request waits to learn what apps are, and which are connected.
const LIMIT: Duration = Duration::from_secs(10);

/// The apps that the account has yet to connect. None if that cannot be found out in time.
pub(super) async fn needing_auth(server: &Arc<AppServer>, ids: &[String]) -> Vec<v2::AppSummary> {
    if ids.is_empty() {
        return Vec::new();
    }
    let Ok(Some(access)) = access(server, None).await else {
        return Vec::new();
    };
    let found = find_out(&access).await;
    if !found.accessible {
        return Vec::new();
    }
    let mut apps = described(Some(&access), ids);
    apps.retain(|app| app.needs_auth);
    apps
}

/// What was found out about the apps of an account.
pub(super) struct FoundOut {
    /// Whether it is known which ones are connected.
    accessible: bool,
}

/// Asks the directory and the account about apps, unless that is known, for a limited time.
pub(super) async fn find_out(access: &AppsAccess) -> FoundOut {
    let (catalog, key) = (&access.catalog, &access.key);
    let directory = app_lists::directory(access, catalog.directory(key));
    let accessible = app_lists::accessible(access, catalog.accessible(key));
    let directory = tokio::time::timeout(LIMIT, directory);
    let accessible = tokio::time::timeout(LIMIT, accessible);
    let (directory, accessible) = tokio::join!(directory, accessible);
    if let Ok(Err(error)) = &directory {
        tracing::warn!(
            ?error,
            "the directory does not describe the apps of a plugin"
        );
    }
    FoundOut {
        accessible: matches!(accessible, Ok(Ok(_))),
    }
}

/// The apps as far as they are known without a request.
pub(super) fn described(access: Option<&AppsAccess>, ids: &[String]) -> Vec<v2::AppSummary> {
    let lists = access.map(|access| {
        let directory = access.catalog.directory(&access.key);
        let accessible = access.catalog.accessible(&access.key);
        (
            directory.unwrap_or_default(),
            accessible.unwrap_or_default(),
        )
    });
    let (directory, accessible) = lists.unwrap_or_default();
    let wanted: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut apps = merge(&directory, &accessible, &wanted);
    apps.retain(|app| ids.contains(&app.id));
    apps.into_iter().map(wire_app_summary).collect()
}
