//! `memory/status`, `memory/reset`, `thread/memory/read`, `thread/memoryMode/set`: what was taken from threads for later ones.

use std::sync::Arc;

use codex_app_server_protocol::{NoParams, v2};
use codex_memories::{MemoryMode, MemoryStore, MemoryStoreError};

use super::call::RequestContext;
use super::stored::record;
use super::{blocking, loaded_thread, store_loaded, thread_id};
use crate::failure::Failure;
use crate::server::AppServer;

pub(super) async fn status(
    RequestContext { server, .. }: RequestContext,
    params: v2::MemoryStatusParams,
) -> Result<v2::MemoryStatusResponse, Failure> {
    let least = params.min_consolidated_threads;
    if least.is_some_and(|least| !(1..=4096).contains(&least)) {
        let message = "minConsolidatedThreads must be between 1 and 4096";
        return Err(Failure::invalid_params(message));
    }
    let threads = with_store(&server, |store| store.consolidated_threads()).await?;
    Ok(v2::MemoryStatusResponse {
        v2_consolidated_threads: i64::from(threads),
        v2_ready: least.is_none_or(|least| threads >= least),
    })
}

pub(super) async fn reset(
    RequestContext { server, .. }: RequestContext,
    _: NoParams,
) -> Result<v2::MemoryResetResponse, Failure> {
    let home = server.host().store().home().to_owned();
    with_store(&server, move |store| store.reset(&home)).await?;
    Ok(v2::MemoryResetResponse {})
}

pub(super) async fn read(
    RequestContext { server, .. }: RequestContext,
    params: v2::ThreadMemoryReadParams,
) -> Result<v2::ThreadMemoryReadResponse, Failure> {
    loaded_thread(&server, &params.thread_id)?;
    let thread = params.thread_id;
    let summary = with_store(&server, move |store| store.summary(&thread)).await?;
    Ok(v2::ThreadMemoryReadResponse { summary })
}

pub(super) async fn set_mode(
    RequestContext { server, connection }: RequestContext,
    params: v2::ThreadMemoryModeSetParams,
) -> Result<v2::ThreadMemoryModeSetResponse, Failure> {
    let live = match loaded_thread(&server, &params.thread_id) {
        Ok(thread) => thread.describe().await,
        Err(_) => {
            check_stored(&server, &params.thread_id).await?;
            None
        }
    };
    if live.is_some_and(|live| live.thread.ephemeral) {
        let id = params.thread_id;
        let message = format!("ephemeral thread does not support metadata updates: {id}");
        return Err(Failure::invalid(message));
    }
    store_loaded(&server, &connection, &params.thread_id).await?;
    let mode = match params.mode {
        v2::ThreadMemoryMode::Enabled => MemoryMode::Enabled,
        v2::ThreadMemoryMode::Disabled => MemoryMode::Disabled,
    };
    let thread = params.thread_id;
    with_store(&server, move |store| store.set_mode(&thread, mode)).await?;
    Ok(v2::ThreadMemoryModeSetResponse {})
}

/// Refuses threads that have no file, or one in the archive.
async fn check_stored(server: &AppServer, id: &str) -> Result<(), Failure> {
    let id = thread_id(id)?;
    let stored = record(server, &id).await?;
    if stored.is_some_and(|record| !record.archived) {
        return Ok(());
    }
    let message = format!("no rollout found for thread id {id}");
    Err(Failure::invalid(message))
}

async fn with_store<T: Send + 'static>(
    server: &AppServer,
    work: impl FnOnce(&MemoryStore) -> Result<T, MemoryStoreError> + Send + 'static,
) -> Result<T, Failure> {
    let store = Arc::clone(server.host().memories());
    let failed = |error: MemoryStoreError| Failure::internal(error.to_string());
    blocking(move || work(&store).map_err(failed)).await
}
