//! `thread/compaction/read` and `thread/compaction/restore`: what compactions dropped, and bringing it back.

use codex_app_server_protocol::v2::{
    ThreadCompaction, ThreadCompactionReadParams, ThreadCompactionReadResponse,
    ThreadCompactionRestoreParams, ThreadCompactionRestoreResponse, ThreadDroppedItem,
};
use codex_core::{DroppedItem, InjectItems, ReadContext, StoredCompaction, read_compaction};

use super::call::RequestContext;
use super::paging::page;
use super::thread_context::wire_kind;
use super::thread_read::turns_of;
use super::{blocking, engine, flush, input_thread};
use crate::failure::Failure;
use crate::server::AppServer;

/// Limits on what is shown: items of a page, bytes of an item's text and of a summary.
const MAX_ITEMS: u32 = 100;
const MAX_TEXT: usize = 2_000;
const MAX_SUMMARY: usize = 200_000;

/// How much of the window may be used after items were brought back, in percent.
const MAX_USE: u64 = 80;

pub(super) async fn read(
    RequestContext { server, .. }: RequestContext,
    params: ThreadCompactionReadParams,
) -> Result<ThreadCompactionReadResponse, Failure> {
    let number = params.number.map(|number| number as usize);
    let (found, count) = stored(&server, &params.thread_id, number).await?;
    let Some(found) = found else {
        if let Some(number) = params.number {
            return Err(not_found(number, count));
        }
        return Ok(ThreadCompactionReadResponse {
            count: 0,
            compaction: None,
            data: Vec::new(),
            next_cursor: None,
        });
    };
    let limit = params.limit.unwrap_or(MAX_ITEMS).min(MAX_ITEMS);
    let all: Vec<(usize, &DroppedItem)> = found.dropped.iter().enumerate().collect();
    let (items, next_cursor) = page(all, params.cursor.as_deref(), Some(limit), "items")?;
    let items = items.into_iter().map(|(index, item)| shown(index, item));
    Ok(ThreadCompactionReadResponse {
        count: small(count),
        data: items.collect(),
        next_cursor,
        compaction: Some(facts(&found)),
    })
}

pub(super) async fn restore(
    RequestContext { server, .. }: RequestContext,
    params: ThreadCompactionRestoreParams,
) -> Result<ThreadCompactionRestoreResponse, Failure> {
    input_thread(&server, &params.thread_id)?;
    if params.items.is_empty() || params.items.len() > MAX_ITEMS as usize {
        let message = format!("items must name 1 to {MAX_ITEMS} dropped items");
        return Err(Failure::invalid(message));
    }
    let engine = engine(&server, &params.thread_id).await?;
    let number = params.number as usize;
    let (found, count) = stored(&server, &params.thread_id, Some(number)).await?;
    let found = found.ok_or_else(|| not_found(params.number, count))?;
    let wanted: Vec<usize> = params.items.iter().map(|index| *index as usize).collect();
    let restored = found.restored(&wanted);
    let (items, tokens) = restored.map_err(|error| Failure::invalid(error.to_string()))?;
    let context = engine.call(ReadContext).await?;
    let window = context.window.and_then(|window| u64::try_from(window).ok());
    let used = blocking(move || Ok(context.parts().tokens())).await?;
    let (tokens, after) = (tokens as u64, used.saturating_add(tokens as u64));
    if let Some(window) = window
        && after.saturating_mul(100) > window.saturating_mul(MAX_USE)
    {
        return Err(Failure::invalid(format!(
            "with these items the context would have about {after} tokens, more than {MAX_USE} percent of {window}: bring fewer back"
        )));
    }
    let claimed = engine.claim();
    claimed.map_err(|error| Failure::invalid(error.to_string()))?;
    let count = small(items.len());
    engine.call(InjectItems(items)).await?;
    flush(&engine).await;
    Ok(ThreadCompactionRestoreResponse {
        items: count,
        tokens,
    })
}

/// A compaction of a stored thread, and how many there are.
async fn stored(
    server: &std::sync::Arc<AppServer>,
    thread: &str,
    number: Option<usize>,
) -> Result<(Option<StoredCompaction>, usize), Failure> {
    if let Ok(engine) = engine(server, thread).await {
        let written = engine.flush().await;
        written.map_err(|error| Failure::internal(error.to_string()))?;
    }
    let (path, _) = turns_of(server, thread).await?;
    blocking(move || {
        let read = read_compaction(&path, number);
        read.map_err(|error| Failure::internal(error.to_string()))
    })
    .await
}

fn not_found(number: u32, count: usize) -> Failure {
    Failure::invalid(format!(
        "compaction {number} not found: the thread has {count}"
    ))
}

fn facts(found: &StoredCompaction) -> ThreadCompaction {
    let summary = found.summary.as_deref();
    let cut = summary.map(|summary| beginning(summary, MAX_SUMMARY));
    ThreadCompaction {
        number: small(found.number),
        turn_id: found.turn.clone(),
        is_summary_cut: cut.map(str::len) != summary.map(str::len),
        summary: cut.map(str::to_owned),
        tokens_before: found.tokens.0 as u64,
        tokens_after: found.tokens.1 as u64,
        dropped_items: small(found.dropped.len()),
    }
}

fn shown(index: usize, item: &DroppedItem) -> ThreadDroppedItem {
    let text = item.text();
    let cut = beginning(&text, MAX_TEXT);
    ThreadDroppedItem {
        index: small(index),
        kind: wire_kind(item.kind),
        is_text_cut: cut.len() < text.len(),
        text: cut.to_owned(),
        tokens: item.tokens as u64,
        is_restorable: item.is_restorable(),
    }
}

/// The beginning of a text, whole characters only.
fn beginning(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
