//! `thread/turns/list`: pages of the turns of a thread, in either direction.

use codex_app_server_protocol::v2::{ThreadTurnsListParams, ThreadTurnsListResponse};

use super::call::RequestContext;
use super::thread_read::turns_of;
use crate::failure::Failure;
use crate::thread::stored::turn_pages::page_of_file;

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: ThreadTurnsListParams,
) -> Result<ThreadTurnsListResponse, Failure> {
    let (path, running) = turns_of(&server, &params.thread_id).await?;
    page_of_file(&server, path, running, params).await
}
