//! `thread/queue/*`: messages that wait for the end of the running turn.

use std::path::Path;
use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    QueuedSubmission, ThreadQueueAddParams, ThreadQueueAddResponse, ThreadQueueDeleteParams,
    ThreadQueueDeleteResponse, ThreadQueueListParams, ThreadQueueListResponse,
    ThreadQueueReorderParams, ThreadQueueReorderResponse, ThreadQueueStartParams,
    ThreadQueueStartResponse, ThreadQueueUpdateParams, ThreadQueueUpdateResponse, UserInput,
};
use codex_protocol::ThreadId;
use codex_thread_state::{QueueEntry, QueueError};
use futures::FutureExt as _;

use super::call::{EarlyReply, RequestContext};
use super::paging::page;
use super::stored::stored_or_live;
use super::{archived, blocking, create_file, state_failed, thread_id};
use crate::failure::Failure;
use crate::server::AppServer;
use crate::thread::{Actor, QueuedMessage, accepted_turn, end_left_handovers, queue_changed};

/// The default page size.
const PAGE: u32 = 100;

pub(super) async fn add(
    RequestContext { server, connection }: RequestContext,
    params: ThreadQueueAddParams,
) -> Result<EarlyReply<method::ThreadQueueAdd>, Failure> {
    let id = with_queue(&server, &params.thread_id).await?;
    check_input(&params.input)?;
    // Without its file, no later process would find the thread with its queue.
    create_file(&server, &connection, &params.thread_id).await?;
    let message = QueuedMessage {
        input: with_images(params.input).await,
        client_user_message_id: params.client_user_message_id,
        responsesapi_client_metadata: params.responsesapi_client_metadata,
    };
    let (state, thread) = (Arc::clone(server.state()), id.to_string());
    let queued_submission = blocking(move || {
        let id = state.enqueue(&thread, &message.text()?);
        Ok(wire(id.map_err(state_failed)?, message))
    })
    .await?;
    let response = ThreadQueueAddResponse { queued_submission };
    Ok(EarlyReply::sent_by(move |reply| async move {
        reply.accept(&response);
        changed(&server, &id).await;
        if let Some(thread) = server.thread(id.as_str()) {
            thread.send(|thread| thread.work_changed().boxed()).await;
        }
    }))
}

/// The input with the content of its image files, which may be gone when its turn comes. A file that is no image stays a
/// path, so that the turn says what is wrong with it.
async fn with_images(input: Vec<UserInput>) -> Vec<UserInput> {
    let mut kept = Vec::with_capacity(input.len());
    for part in input {
        kept.push(match part {
            UserInput::LocalImage { path, detail } => {
                match codex_core::image_data_url(Path::new(&path)).await {
                    Some(url) => UserInput::Image {
                        url,
                        file_id: None,
                        detail,
                    },
                    None => UserInput::LocalImage { path, detail },
                }
            }
            other => other,
        });
    }
    kept
}

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: ThreadQueueListParams,
) -> Result<ThreadQueueListResponse, Failure> {
    let id = with_queue(&server, &params.thread_id).await?;
    let state = Arc::clone(server.state());
    blocking(move || {
        let queue = state.queue(id.as_str()).map_err(state_failed)?;
        let limit = params.limit.unwrap_or(PAGE);
        let (queue, next_cursor) =
            page(queue, params.cursor.as_deref(), Some(limit), "submissions")?;
        let data = queue.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(ThreadQueueListResponse { data, next_cursor })
    })
    .await
}

pub(super) async fn update(
    RequestContext { server, .. }: RequestContext,
    params: ThreadQueueUpdateParams,
) -> Result<EarlyReply<method::ThreadQueueUpdate>, Failure> {
    let id = with_queue(&server, &params.thread_id).await?;
    check_input(&params.input)?;
    let input = with_images(params.input).await;
    let (state, thread) = (Arc::clone(server.state()), id.to_string());
    let queued_submission = blocking(move || {
        let queued = state.change_queued(&thread, &params.queued_submission_id, |before| {
            let mut message: QueuedMessage = serde_json::from_str(before)?;
            message.input = input;
            if params.responsesapi_client_metadata.is_some() {
                message.responsesapi_client_metadata = params.responsesapi_client_metadata;
            }
            serde_json::to_string(&message)
        });
        read(queued.map_err(refused)?)
    })
    .await?;
    let response = ThreadQueueUpdateResponse { queued_submission };
    Ok(EarlyReply::sent_by(move |reply| async move {
        reply.accept(&response);
        changed(&server, &id).await;
    }))
}

pub(super) async fn delete(
    RequestContext { server, .. }: RequestContext,
    params: ThreadQueueDeleteParams,
) -> Result<EarlyReply<method::ThreadQueueDelete>, Failure> {
    let id = with_queue(&server, &params.thread_id).await?;
    let (state, thread) = (Arc::clone(server.state()), id.to_string());
    let taken = blocking(move || {
        let taken = state.dequeue(&thread, Some(&params.queued_submission_id));
        taken.map_err(state_failed)
    });
    let deleted = taken.await?.is_some();
    Ok(EarlyReply::sent_by(move |reply| async move {
        reply.accept(&ThreadQueueDeleteResponse { deleted });
        if deleted {
            changed(&server, &id).await;
        }
    }))
}

pub(super) async fn reorder(
    RequestContext { server, .. }: RequestContext,
    params: ThreadQueueReorderParams,
) -> Result<EarlyReply<method::ThreadQueueReorder>, Failure> {
    let id = with_queue(&server, &params.thread_id).await?;
    let (state, thread) = (Arc::clone(server.state()), id.to_string());
    blocking(move || {
        let ordered = state.reorder_queue(&thread, &params.queued_submission_ids);
        ordered.map_err(refused)
    })
    .await?;
    Ok(EarlyReply::sent_by(move |reply| async move {
        reply.accept(&ThreadQueueReorderResponse {});
        changed(&server, &id).await;
    }))
}

pub(super) async fn start(
    RequestContext { server, .. }: RequestContext,
    params: ThreadQueueStartParams,
) -> Result<EarlyReply<method::ThreadQueueStart>, Failure> {
    let id = with_queue(&server, &params.thread_id).await?;
    let Some(thread) = server.thread(id.as_str()) else {
        let message = "resume the thread before starting a queued message";
        return Err(Failure::invalid(message));
    };
    Ok(EarlyReply::of_thread(thread, |actor| {
        start_queued(actor, params.queued_submission_id).boxed()
    }))
}

async fn start_queued(
    actor: &mut Actor,
    id: Option<String>,
) -> Result<ThreadQueueStartResponse, Failure> {
    if actor.turn.is_some() {
        let message = "thread already has an active or pending turn";
        return Err(Failure::invalid(message));
    }
    let Some(turn) = actor.start_from_queue(id.as_deref()).await? else {
        let missing = |id| format!("queued submission not found: {id}");
        let message = id.map_or_else(|| "queue is empty".to_owned(), missing);
        return Err(Failure::invalid(message));
    };
    let turn = accepted_turn(turn, None);
    Ok(ThreadQueueStartResponse { turn })
}

/// The id of a thread that can have a queue. What a process left on its way from the queue into a turn is in the queue again,
/// or in its turn.
async fn with_queue(server: &Arc<AppServer>, id: &str) -> Result<ThreadId, Failure> {
    let id = thread_id(id)?;
    let found = stored_or_live(server, &id).await?;
    let log = (found.0.as_ref()).map(|record| record.path.clone());
    let (state, store) = (Arc::clone(server.state()), Arc::clone(server));
    let thread = id.to_string();
    blocking(move || {
        let home = store.host().store().home();
        let left = state.handovers(&thread).map_err(state_failed)?;
        end_left_handovers(&state, home, left, log.as_deref()).map_err(state_failed)
    })
    .await?;
    match found {
        (None, None) => Err(Failure::internal(format!("thread not found: {id}"))),
        (Some(record), _) if record.archived => Err(archived(&id)),
        (None, Some(live)) if live.thread.ephemeral => Err(Failure::invalid(format!(
            "ephemeral thread does not support queued submissions: {id}"
        ))),
        _ => Ok(id),
    }
}

fn check_input(input: &[UserInput]) -> Result<(), Failure> {
    if input.is_empty() {
        let message = "only user input can be added to the user-message queue";
        return Err(Failure::invalid(message));
    }
    super::turn_start::check_input(input)
}

/// Notifies the subscribers of a thread that its queue changed.
async fn changed(server: &AppServer, id: &ThreadId) {
    if let Some(thread) = server.thread(id.as_str()) {
        let changed = queue_changed(id);
        let _ = thread.call_now(|thread| thread.notify(changed)).await;
    }
}

fn read(queued: QueueEntry) -> Result<QueuedSubmission, Failure> {
    Ok(wire(queued.id, QueuedMessage::read(&queued.message)?))
}

fn wire(id: String, message: QueuedMessage) -> QueuedSubmission {
    QueuedSubmission {
        id,
        input: message.input,
        client_user_message_id: message.client_user_message_id,
        responsesapi_client_metadata: message.responsesapi_client_metadata,
    }
}

fn refused(error: QueueError) -> Failure {
    match error {
        QueueError::State(error) => state_failed(error),
        refused => Failure::invalid(refused.to_string()),
    }
}
