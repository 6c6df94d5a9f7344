//! `thread/revert`.

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::ThreadRevertParams;
use futures::FutureExt as _;

use super::call::{EarlyReply, RequestContext};
use super::loaded_thread;
use crate::failure::Failure;

pub(super) async fn revert(
    RequestContext { server, .. }: RequestContext,
    params: ThreadRevertParams,
) -> Result<EarlyReply<method::ThreadRevert>, Failure> {
    let thread = loaded_thread(&server, &params.thread_id)?;
    let before = params.before_turn_id;
    Ok(EarlyReply::by_thread_in_order(thread, |thread, reply| {
        async move { thread.revert(&before, reply).await }.boxed()
    }))
}
