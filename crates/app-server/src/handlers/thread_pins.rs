//! `thread/pin/*`: texts of a loaded thread that no compaction drops.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    ThreadItem, ThreadPin, ThreadPinAddParams, ThreadPinAddResponse, ThreadPinListParams,
    ThreadPinListResponse, ThreadPinRemoveParams, ThreadPinRemoveResponse,
};
use codex_core::{AddPin, ListPins, PinError, RemovePin};
use codex_projection::id_of;
use serde_json::Value;

use super::call::RequestContext;
use super::stored_turns::StoredTurns;
use super::thread_read::turns_of;
use super::{blocking, engine, flush, input_thread, store_loaded};
use crate::failure::Failure;
use crate::server::AppServer;

pub(super) async fn add(
    RequestContext { server, connection }: RequestContext,
    params: ThreadPinAddParams,
) -> Result<ThreadPinAddResponse, Failure> {
    input_thread(&server, &params.thread_id)?;
    let engine = engine(&server, &params.thread_id).await?;
    let (text, item_id) = match (params.text, params.turn_id, params.item_id) {
        (Some(text), None, None) => (text, None),
        (None, Some(turn), Some(item)) => {
            let text = text_of_item(&server, &params.thread_id, turn, &item).await?;
            (text, Some(item))
        }
        _ => {
            let message = "thread/pin/add needs either text, or turnId and itemId";
            return Err(Failure::invalid(message));
        }
    };
    let pin = engine
        .call(AddPin { text, item_id })
        .await
        .map_err(failure)?;
    flush(&engine).await;
    store_loaded(&server, &connection, &params.thread_id).await?;
    Ok(ThreadPinAddResponse { pin: shown(pin) })
}

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: ThreadPinListParams,
) -> Result<ThreadPinListResponse, Failure> {
    let engine = engine(&server, &params.thread_id).await?;
    let pins = engine.call(ListPins).await?;
    Ok(ThreadPinListResponse {
        data: pins.into_iter().map(shown).collect(),
    })
}

pub(super) async fn remove(
    RequestContext { server, .. }: RequestContext,
    params: ThreadPinRemoveParams,
) -> Result<ThreadPinRemoveResponse, Failure> {
    input_thread(&server, &params.thread_id)?;
    let engine = engine(&server, &params.thread_id).await?;
    let removed = engine.call(RemovePin { id: params.pin_id }).await;
    removed.map_err(failure)?;
    flush(&engine).await;
    Ok(ThreadPinRemoveResponse {})
}

fn failure(error: PinError) -> Failure {
    match error {
        PinError::Closed(_) => Failure::internal(error.to_string()),
        _ => Failure::invalid(error.to_string()),
    }
}

fn shown(pin: codex_protocol::ThreadPin) -> ThreadPin {
    ThreadPin {
        id: pin.id,
        text: pin.text,
        item_id: pin.item_id,
    }
}

/// What people read of an item.
async fn text_of_item(
    server: &Arc<AppServer>,
    thread: &str,
    turn: String,
    item: &str,
) -> Result<String, Failure> {
    let (path, running) = turns_of(server, thread).await?;
    let (server, item) = (Arc::clone(server), item.to_owned());
    blocking(move || {
        let turns = StoredTurns::open(&server, path, running)?;
        let at = turns.ids().iter().position(|id| *id == turn);
        let turns = turns.read(at.map_or(0..0, |at| at..at + 1))?;
        let mut items = turns.into_iter().flat_map(|turn| turn.items);
        let found = items.find(|found| id_of(found) == item);
        let missing = || Failure::invalid(format!("item not found: {item}"));
        let text = text_of(&found.ok_or_else(missing)?.item);
        let none = || Failure::invalid(format!("item {item} has no text to pin"));
        text.ok_or_else(none)
    })
    .await
}

fn text_of(item: &ThreadItem) -> Option<String> {
    let item = serde_json::to_value(item).ok()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let content = || {
        let parts = item["content"].as_array()?;
        let texts: Vec<&str> = parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    text(&item["text"])
        .or_else(|| text(&item["aggregatedOutput"]))
        .or_else(content)
}
