//! `thread/attachment/*`, `thread/attachmentOwner/list`: records that clients keep on threads.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    ThreadAttachment, ThreadAttachmentAddOutcome, ThreadAttachmentAddParams,
    ThreadAttachmentAddResponse, ThreadAttachmentListParams, ThreadAttachmentListResponse,
    ThreadAttachmentOperation, ThreadAttachmentOwner, ThreadAttachmentOwnerListParams,
    ThreadAttachmentOwnerListResponse, ThreadAttachmentRemoveParams,
    ThreadAttachmentRemoveResponse, ThreadAttachmentUpdatedNotification,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_protocol::ThreadId;
use codex_thread_state::{AddedAttachment, Attachment};

use super::call::{EarlyReply, RequestContext};
use super::paging::page;
use super::stored::record;
use super::{blocking, state_failed, stored, thread_id};
use crate::failure::Failure;
use crate::server::AppServer;

pub(super) async fn add(
    RequestContext { server, .. }: RequestContext,
    params: ThreadAttachmentAddParams,
) -> Result<EarlyReply<method::ThreadAttachmentAdd>, Failure> {
    check(&params.attachment_type, &params.identity_key)?;
    let id = existing(&server, &params.thread_id).await?;
    let (state, thread) = (Arc::clone(server.state()), id.to_string());
    let (kind, identity) = (params.attachment_type, params.identity_key);
    let payload = params.payload.to_string();
    let added = blocking(move || {
        let added = state.add_attachment(&thread, &kind, &identity, &payload);
        added.map_err(state_failed)
    });
    let (outcome, attachment, is_new) = match added.await? {
        AddedAttachment::New(attachment) => (ThreadAttachmentAddOutcome::Created, attachment, true),
        AddedAttachment::Existing(attachment) => {
            (ThreadAttachmentAddOutcome::Existing, attachment, false)
        }
    };
    let attachment = wire(attachment)?;
    let notification = updated(&id, &attachment, ThreadAttachmentOperation::Created);
    let response = ThreadAttachmentAddResponse {
        outcome,
        attachment,
    };
    Ok(EarlyReply::then(response, move || {
        if is_new {
            server.broadcast(&notification);
        }
    }))
}

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: ThreadAttachmentListParams,
) -> Result<ThreadAttachmentListResponse, Failure> {
    let id = owner(&params.thread_id)?;
    let state = Arc::clone(server.state());
    blocking(move || {
        let attachments = state.attachments(id.as_str()).map_err(state_failed)?;
        let (attachments, next_cursor) = page(
            attachments,
            params.cursor.as_deref(),
            params.limit,
            "attachments",
        )?;
        let data = attachments
            .into_iter()
            .map(wire)
            .collect::<Result<_, _>>()?;
        Ok(ThreadAttachmentListResponse { data, next_cursor })
    })
    .await
}

pub(super) async fn remove(
    RequestContext { server, .. }: RequestContext,
    params: ThreadAttachmentRemoveParams,
) -> Result<EarlyReply<method::ThreadAttachmentRemove>, Failure> {
    check(&params.attachment_type, &params.identity_key)?;
    let id = existing(&server, &params.thread_id).await?;
    let (state, thread) = (Arc::clone(server.state()), id.to_string());
    let removed = blocking(move || {
        let removed =
            state.remove_attachment(&thread, &params.attachment_type, &params.identity_key);
        removed.map_err(state_failed)
    });
    let removed = removed.await?.map(wire).transpose()?;
    let notification =
        removed.map(|removed| updated(&id, &removed, ThreadAttachmentOperation::Deleted));
    Ok(EarlyReply::then(
        ThreadAttachmentRemoveResponse {},
        move || {
            if let Some(notification) = notification {
                server.broadcast(&notification);
            }
        },
    ))
}

pub(super) async fn owners(
    RequestContext { server, .. }: RequestContext,
    params: ThreadAttachmentOwnerListParams,
) -> Result<ThreadAttachmentOwnerListResponse, Failure> {
    check(&params.attachment_type, &params.identity_key)?;
    let state = Arc::clone(server.state());
    let (cursor, limit, asked) = (params.cursor, params.limit, params.archived);
    let threads = blocking(move || {
        let owners = state.owners_of_attachment(&params.attachment_type, &params.identity_key);
        owners.map_err(state_failed)
    });
    let mut data = Vec::new();
    for thread_id in threads.await? {
        let record = stored::record(&server, &ThreadId(thread_id.clone())).await?;
        let archived = record.is_some_and(|record| record.archived);
        if asked.is_none_or(|asked| asked == archived) {
            data.push(ThreadAttachmentOwner {
                thread_id,
                archived,
            });
        }
    }
    let (data, next_cursor) = page(data, cursor.as_deref(), limit, "owners")?;
    Ok(ThreadAttachmentOwnerListResponse { data, next_cursor })
}

/// A thread id, whose error has a code of its own for attachments.
fn owner(id: &str) -> Result<ThreadId, Failure> {
    thread_id(id).map_err(|failure| Failure::invalid_params(failure.message()))
}

async fn existing(server: &Arc<AppServer>, id: &str) -> Result<ThreadId, Failure> {
    let id = owner(id)?;
    match record(server, &id).await? {
        None => Err(Failure::invalid_params(format!("thread not found: {id}"))),
        Some(_) => Ok(id),
    }
}

fn check(kind: &str, identity: &str) -> Result<(), Failure> {
    for (name, value) in [("attachmentType", kind), ("identityKey", identity)] {
        if value.is_empty() {
            return Err(Failure::invalid_params(format!("{name} must not be empty")));
        }
    }
    Ok(())
}

fn updated(
    thread: &ThreadId,
    attachment: &ThreadAttachment,
    operation: ThreadAttachmentOperation,
) -> ServerNotification {
    ServerNotification::ThreadAttachmentUpdated(ThreadAttachmentUpdatedNotification {
        thread_id: thread.to_string(),
        attachment_type: attachment.attachment_type.clone(),
        identity_key: attachment.identity_key.clone(),
        attachment_id: attachment.id.clone(),
        operation,
    })
}

fn wire(attachment: Attachment) -> Result<ThreadAttachment, Failure> {
    let unreadable = |error| Failure::internal(format!("an attachment cannot be read: {error}"));
    Ok(ThreadAttachment {
        id: attachment.id,
        attachment_type: attachment.kind,
        identity_key: attachment.identity,
        payload: serde_json::from_str(&attachment.payload).map_err(unreadable)?,
        created_at: attachment.created_at,
    })
}
