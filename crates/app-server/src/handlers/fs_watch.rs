//! `fs/watch` and `fs/unwatch`.

use std::sync::Arc;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    FsChangedNotification, FsUnwatchParams, FsUnwatchResponse, FsWatchParams, FsWatchResponse,
};
use codex_protocol::AbsolutePathBuf;
use uuid::Uuid;

use super::fs::absolute;
use crate::connection::Responder;
use crate::failure::Failure;
use crate::server::Server;
use crate::voice::Voice;
use crate::watches::NamedWatch;

pub(super) fn watch(server: &Server, params: FsWatchParams, reply: Responder<method::FsWatch>) {
    let path = match absolute(&params.path) {
        Ok(path) => path,
        Err(failure) => return reply.refuse(failure),
    };
    let connection = Arc::clone(reply.connection());
    let id = params
        .watch_id
        .unwrap_or_else(|| Uuid::now_v7().to_string());
    if connection.watches().has(&id) {
        return reply.refuse(Failure::invalid(format!("watchId already exists: {id}")));
    }
    let voice = Voice::new(&connection);
    let tell = {
        let (voice, id) = (Arc::clone(&voice), id.clone());
        move |paths: Vec<std::path::PathBuf>| {
            let text = |path: &std::path::PathBuf| AbsolutePathBuf(path.display().to_string());
            voice.say(&ServerNotification::FsChanged(FsChangedNotification {
                watch_id: id.clone(),
                changed_paths: paths.iter().map(text).collect(),
            }));
        }
    };
    let watcher = server.watcher();
    let watch = watcher.and_then(|watcher| watcher.watch(&path, tell));
    match watch {
        Ok(watch) => {
            // What has changed meanwhile is told no sooner than the burst that it belongs to ends.
            reply.accept(&FsWatchResponse {
                watch_id: id.clone(),
                path: AbsolutePathBuf(path.display().to_string()),
            });
            connection.watches().add(
                id,
                NamedWatch {
                    _watch: watch,
                    voice,
                },
            );
        }
        Err(error) => {
            let message = format!("failed to watch {}: {error}", path.display());
            reply.refuse(Failure::internal(message));
        }
    }
}

pub(super) fn unwatch(params: FsUnwatchParams, reply: Responder<method::FsUnwatch>) {
    reply.connection().watches().remove(&params.watch_id);
    reply.accept(&FsUnwatchResponse {});
}
