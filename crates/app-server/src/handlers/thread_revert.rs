//! `thread/revert`, and the cursors of the newest turn and item.

use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::ThreadRevertParams;

use super::call::{EarlyReply, RequestContext};
use super::{blocking, loaded_thread, thread_items, thread_turns};
use crate::failure::Failure;
use crate::projection::ItemIds;
use crate::server::AppServer;
use crate::thread::ids_in;

pub(super) async fn revert(
    RequestContext { server, .. }: RequestContext,
    params: ThreadRevertParams,
) -> Result<EarlyReply<method::ThreadRevert>, Failure> {
    let thread = loaded_thread(&server, &params.thread_id)?;
    Ok(EarlyReply::by(|reply| async move {
        thread.revert(params.before_turn_id, reply).await;
    }))
}

/// The cursors of the newest turn and the newest item of a thread; none where there is none.
pub(crate) async fn newest_cursors(
    server: &Arc<AppServer>,
    path: PathBuf,
) -> Result<(Option<String>, Option<String>), Failure> {
    let of_file = path.clone();
    let ids = blocking(move || Ok(ids_in(&of_file, ItemIds::Streamed))).await?;
    if ids == ItemIds::Untimed {
        return Ok((None, None));
    }
    let turns = thread_turns::newest_cursor(server, path.clone()).await?;
    let items = thread_items::newest_cursor(server, path).await?;
    Ok((turns, items))
}
