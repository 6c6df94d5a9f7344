//! `thread/items/list`: pages of the items of a thread, in either direction, or of one turn for older clients with
//! `thread/turns/items/list`; and `thread/inject_items`, which adds
//! items to the history that the model gets.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    ThreadInjectItemsParams, ThreadInjectItemsResponse, ThreadItemsCursor, ThreadItemsDeferOutput,
    ThreadItemsListParams, ThreadItemsListResponse, ThreadItemsReadParams, ThreadItemsReadResponse,
    ThreadTurnsItemsListParams, ThreadTurnsItemsListResponse,
};
use codex_core::InjectItems;
use codex_projection::id_of;
use codex_protocol::ResponseItem;

use super::call::RequestContext;
use super::stored_turns::StoredTurns;
use super::thread_read::source_of_turns;
use super::{blocking, engine, flush, input_thread, store_loaded};
use crate::failure::Failure;
use crate::thread::stored::item_pages::{MAX_PAGE_ITEMS, entry, page_of_file};

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: ThreadItemsListParams,
) -> Result<ThreadItemsListResponse, Failure> {
    let source = source_of_turns(&server, &params.thread_id, "thread/items/list");
    let (path, running) = source.await?;
    let server = Arc::clone(&server);
    blocking(move || page_of_file(&server, path, running, &params)).await
}

pub(super) async fn list_of_turn(
    context: RequestContext,
    params: ThreadTurnsItemsListParams,
) -> Result<ThreadTurnsItemsListResponse, Failure> {
    let params = ThreadItemsListParams {
        thread_id: params.thread_id,
        turn_id: Some(params.turn_id),
        cursor: params.cursor.map(ThreadItemsCursor::Page),
        limit: params.limit,
        sort_direction: params.sort_direction,
        defer_output: None,
    };
    let page = list(context, params).await?;
    Ok(ThreadTurnsItemsListResponse {
        data: page.data.into_iter().map(|entry| entry.item).collect(),
        next_cursor: page.next_cursor,
        backwards_cursor: page.backwards_cursor,
    })
}

pub(super) async fn read(
    RequestContext { server, .. }: RequestContext,
    params: ThreadItemsReadParams,
) -> Result<ThreadItemsReadResponse, Failure> {
    if params.item_ids.is_empty() || params.item_ids.len() > MAX_PAGE_ITEMS as usize {
        return Err(Failure::invalid("itemIds must contain 1 to 100 IDs"));
    }
    let source = source_of_turns(&server, &params.thread_id, "thread/items/read");
    let (path, running) = source.await?;
    let server = Arc::clone(&server);
    blocking(move || {
        let turns = StoredTurns::open(&server, path, running)?;
        let at = turns.ids().iter().position(|id| *id == params.turn_id);
        let turns = turns.read(at.map_or(0..0, |at| at..at + 1))?;
        let items = turns.into_iter().flat_map(|turn| turn.items);
        let wanted = items.filter(|item| params.item_ids.iter().any(|id| id == id_of(item)));
        let entry = |item| entry(&params.turn_id, item, ThreadItemsDeferOutput::default());
        Ok(ThreadItemsReadResponse {
            data: wanted.map(entry).collect(),
        })
    })
    .await
}

pub(super) async fn inject(
    RequestContext { server, connection }: RequestContext,
    params: ThreadInjectItemsParams,
) -> Result<ThreadInjectItemsResponse, Failure> {
    input_thread(&server, &params.thread_id)?;
    let engine = engine(&server, &params.thread_id).await?;
    if params.items.is_empty() {
        return Err(Failure::invalid("items must not be empty"));
    }
    let items = params.items.into_iter().enumerate().map(|(at, item)| {
        let unreadable = |error| Failure::invalid(format!("items[{at}]: {error}"));
        serde_json::from_value::<ResponseItem>(item).map_err(unreadable)
    });
    let items = items.collect::<Result<Vec<_>, _>>()?;
    let claimed = engine.claim();
    claimed.map_err(|error| Failure::invalid(error.to_string()))?;
    engine.call(InjectItems(items)).await?;
    flush(&engine).await;
    store_loaded(&server, &connection, &params.thread_id).await?;
    Ok(ThreadInjectItemsResponse {})
}
