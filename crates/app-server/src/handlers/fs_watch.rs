//! `fs/watch` and `fs/unwatch`.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    FsChangedNotification, FsUnwatchParams, FsUnwatchResponse, FsWatchParams, FsWatchResponse,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_protocol::AbsolutePathBuf;
use uuid::Uuid;

use super::call::{EarlyReply, RequestContext};
use crate::background_notifier::BackgroundNotifier;
use crate::failure::Failure;
use crate::request_path::absolute;
use crate::watches::NamedWatch;

pub(super) async fn watch(
    RequestContext { server, connection }: RequestContext,
    params: FsWatchParams,
) -> Result<EarlyReply<method::FsWatch>, Failure> {
    let path = absolute(&params.path)?;
    let id = params
        .watch_id
        .unwrap_or_else(|| Uuid::now_v7().to_string());
    if connection.watches().has(&id) {
        return Err(Failure::invalid(format!("watchId already exists: {id}")));
    }
    let notifier = BackgroundNotifier::new(&connection);
    let notify = {
        let (notifier, id) = (Arc::clone(&notifier), id.clone());
        move |paths: Vec<std::path::PathBuf>| {
            let text = |path: &std::path::PathBuf| AbsolutePathBuf(path.display().to_string());
            notifier.send(&ServerNotification::FsChanged(FsChangedNotification {
                watch_id: id.clone(),
                changed_paths: paths.iter().map(text).collect(),
            }));
        }
    };
    let watcher = server.watcher();
    let watch = watcher.and_then(|watcher| watcher.watch(&path, notify));
    let watch = watch.map_err(|error| {
        Failure::internal(format!("failed to watch {}: {error}", path.display()))
    })?;
    let response = FsWatchResponse {
        watch_id: id.clone(),
        path: AbsolutePathBuf(path.display().to_string()),
    };
    let watch = NamedWatch {
        _watch: watch,
        notifier,
    };
    // Changes since then are sent after their burst.
    Ok(EarlyReply::then(response, move || {
        connection.watches().add(id, watch)
    }))
}

pub(super) async fn unwatch(
    RequestContext { connection, .. }: RequestContext,
    params: FsUnwatchParams,
) -> Result<FsUnwatchResponse, Failure> {
    connection.watches().remove(&params.watch_id);
    Ok(FsUnwatchResponse {})
}
