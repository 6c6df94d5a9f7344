//! The apps of a plugin, with what is known about them and the account.

use std::sync::Arc;
use std::time::Duration;

use codex_app_server_protocol::v2;
use codex_apps::merge;

use super::app_lists;
use super::apps::access;
use crate::host::AppsAccess;
use crate::projection::wire_app_summary;
use crate::server::AppServer;

/// How long an installation waits to learn which apps are connected.
const LIMIT: Duration = Duration::from_secs(10);

/// The apps that the account has yet to connect. None if that cannot be found out in time.
pub(super) async fn needing_auth(server: &Arc<AppServer>, ids: &[String]) -> Vec<v2::AppSummary> {
    if ids.is_empty() {
        return Vec::new();
    }
    let Ok(Some(access)) = access(server, None).await else {
        return Vec::new();
    };
    let known = access.catalog.accessible(&access.key);
    let asked = tokio::time::timeout(LIMIT, app_lists::accessible(&access, known)).await;
    if !matches!(asked, Ok(Ok(_))) {
        return Vec::new();
    }
    let mut apps = described(Some(&access), ids);
    apps.retain(|app| app.needs_auth);
    apps
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
