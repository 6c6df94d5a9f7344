//! `threadSection/*` and `thread/section/move`: groups of threads that the user made.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    ThreadSectionChangedNotification, ThreadSectionCreateParams, ThreadSectionCreateResponse,
    ThreadSectionDeleteParams, ThreadSectionDeleteResponse, ThreadSectionListParams,
    ThreadSectionListResponse, ThreadSectionMoveParams, ThreadSectionMoveResponse,
    ThreadSectionUpdateParams, ThreadSectionUpdateResponse,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_projection::wire_section;
use codex_protocol::Update;
use codex_thread_state::SectionError;

use super::call::{EarlyReply, RequestContext};
use super::paging::page;
use super::stored::stored_or_live;
use super::{blocking, state_failed, store_loaded, thread_id};
use crate::failure::Failure;

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: ThreadSectionListParams,
) -> Result<ThreadSectionListResponse, Failure> {
    let state = Arc::clone(server.state());
    blocking(move || {
        let sections = state.sections().map_err(state_failed)?;
        let (data, next_cursor) =
            page(sections, params.cursor.as_deref(), params.limit, "sections")?;
        let data = data.into_iter().map(wire_section).collect();
        Ok(ThreadSectionListResponse { data, next_cursor })
    })
    .await
}

pub(super) async fn create(
    RequestContext { server, .. }: RequestContext,
    params: ThreadSectionCreateParams,
) -> Result<ThreadSectionCreateResponse, Failure> {
    let state = Arc::clone(server.state());
    blocking(move || {
        let appearance = params.appearance.as_ref().map(serde_json::to_string);
        let appearance = appearance.transpose().map_err(unreadable)?;
        let section = state.create_section(&params.name, appearance);
        let section = wire_section(section.map_err(refused)?);
        Ok(ThreadSectionCreateResponse { section })
    })
    .await
}

pub(super) async fn update(
    RequestContext { server, .. }: RequestContext,
    params: ThreadSectionUpdateParams,
) -> Result<ThreadSectionUpdateResponse, Failure> {
    let state = Arc::clone(server.state());
    blocking(move || {
        let appearance = match params.appearance {
            Update::Leave => None,
            Update::Clear => Some(None),
            Update::Set(shown) => Some(Some(serde_json::to_string(&shown).map_err(unreadable)?)),
        };
        let section = state.update_section(&params.section_id, &params.name, appearance);
        let section = wire_section(section.map_err(refused)?);
        Ok(ThreadSectionUpdateResponse { section })
    })
    .await
}

pub(super) async fn delete(
    RequestContext { server, .. }: RequestContext,
    params: ThreadSectionDeleteParams,
) -> Result<ThreadSectionDeleteResponse, Failure> {
    let state = Arc::clone(server.state());
    blocking(move || {
        let deleted = state.delete_section(&params.section_id);
        deleted.map_err(refused)?;
        Ok(ThreadSectionDeleteResponse {})
    })
    .await
}

pub(super) async fn move_thread(
    RequestContext { server, connection }: RequestContext,
    params: ThreadSectionMoveParams,
) -> Result<EarlyReply<method::ThreadSectionMove>, Failure> {
    let id = thread_id(&params.thread_id)?;
    match stored_or_live(&server, &id).await? {
        (None, None) => return Err(Failure::invalid(format!("thread not found: {id}"))),
        (None, Some(live)) if live.thread.ephemeral => {
            let message = format!("ephemeral thread does not support section moves: {id}");
            return Err(Failure::invalid(message));
        }
        _ => {}
    }
    if params.section_id.is_none() && params.before_thread_id.is_some() {
        let message = "beforeThreadId requires a non-null sectionId";
        return Err(Failure::invalid(message));
    }
    if params.before_thread_id.as_deref() == Some(id.as_str()) {
        let message = format!("thread {id} cannot be moved before itself");
        return Err(Failure::invalid(message));
    }
    store_loaded(&server, &connection, &params.thread_id).await?;
    let changed = ThreadSectionChangedNotification {
        thread_id: id.to_string(),
        section_id: params.section_id.clone(),
    };
    let state = Arc::clone(server.state());
    blocking(move || {
        let (section, before) = (
            params.section_id.as_deref(),
            params.before_thread_id.as_deref(),
        );
        let moved = state.move_to_section(id.as_str(), section, before);
        moved.map_err(refused)
    })
    .await?;
    Ok(EarlyReply::then(ThreadSectionMoveResponse {}, move || {
        server.broadcast(&ServerNotification::ThreadSectionChanged(changed));
    }))
}

fn refused(error: SectionError) -> Failure {
    match error {
        SectionError::State(error) => state_failed(error),
        refused @ (SectionError::NoTarget(_) | SectionError::NotInSection { .. }) => {
            Failure::invalid(refused.to_string())
        }
        refused => Failure::invalid_params(refused.to_string()),
    }
}

fn unreadable(error: serde_json::Error) -> Failure {
    Failure::internal(format!(
        "the appearance of a section cannot be stored: {error}"
    ))
}
