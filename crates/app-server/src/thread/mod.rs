//! The actor behind each loaded thread.
//!
//! It handles the engine's events in order, notifies the subscribers of the thread, and serves requests about the
//! thread one after the other. A reply is therefore consistent with the notifications around it.

mod actor;
mod additional_context;
mod agents;
mod amend;
mod begin_turn;
pub(crate) mod checkpoints;
mod continued;
mod facts;
mod follow_up;
mod goal_prompt;
mod goal_usage;
mod history;
mod join;
mod notify;
mod opened_usage;
mod ordinals;
mod outline;
mod pending_rollback;
mod questions;
mod queue_changed;
mod queue_handover;
mod queued_message;
mod queued_turn;
mod request_paths;
mod requested_sandbox;
mod requested_settings;
mod restore;
mod revert;
mod review;
mod rollback;
mod snapshot;
mod status;
pub(crate) mod stored;
mod stored_lines;
mod stored_settings;
mod subscribers;
mod turn_end;
mod unload;
mod unload_time;
mod workplace;

use codex_app_server_protocol::v2::{Turn, TurnItemsView, TurnStatus};
use codex_core::ThreadClosed;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

pub(crate) use actor::{Actor, McpServers};
pub(crate) use amend::amend;
pub(crate) use continued::ContinuableTurn;
pub(crate) use facts::{ThreadFacts, history_mode, stored_thread};
pub(crate) use history::{StoredHistory, TurnsShown, form_in, read_history, read_to_load};
pub(crate) use opened_usage::show_usage;
pub(crate) use ordinals::TurnOrdinals;
pub(crate) use outline::Outline;
pub(crate) use outline::kept::Outlines;
pub(crate) use queue_changed::queue_changed;
pub(crate) use queue_handover::end_left_handovers;
pub(crate) use queued_message::QueuedMessage;
pub(crate) use request_paths::check_environments;
pub(crate) use requested_sandbox::{named_sandbox, requested_sandbox};
pub(crate) use snapshot::Snapshot;
pub(crate) use stored_settings::GivenPolicy;
pub(crate) use workplace::RequestedPlace;

/// How many calls wait for a thread at most.
const CALL_QUEUE_CAPACITY: usize = 128;

/// What is asked of a loaded thread: a function of its [`Actor`]. It runs in the thread's own task, so it sees all of the state,
/// and nothing else happens to the thread meanwhile. The future is boxed, so that an idle thread holds no room for it.
pub(crate) trait ActorCall<R>:
    FnOnce(&mut Actor) -> BoxFuture<'_, R> + Send + 'static
{
}

impl<F, R> ActorCall<R> for F where F: FnOnce(&mut Actor) -> BoxFuture<'_, R> + Send + 'static {}

type QueuedCall = Box<dyn ActorCall<()>>;

/// The handle of a loaded thread. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ThreadHandle {
    calls: mpsc::Sender<QueuedCall>,
    takes_input: bool,
}

impl ThreadHandle {
    fn new(takes_input: bool) -> (Self, mpsc::Receiver<QueuedCall>) {
        let (calls, queued) = mpsc::channel(CALL_QUEUE_CAPACITY);
        (Self { calls, takes_input }, queued)
    }

    /// Whether clients may give the thread input.
    pub(crate) fn takes_input(&self) -> bool {
        self.takes_input
    }

    /// Asks the thread, and waits for the reply.
    pub(crate) async fn call<R: Send + 'static>(
        &self,
        call: impl ActorCall<R>,
    ) -> Result<R, ThreadClosed> {
        let (answer, reply) = oneshot::channel();
        self.send(|thread| async move { drop(answer.send(call(thread).await)) }.boxed())
            .await;
        reply.await.map_err(|_| ThreadClosed)
    }

    /// Asks the thread, and does not wait. A closed thread drops the call, and with it a responder that the call owns, which
    /// replies then.
    pub(crate) async fn send(&self, call: impl ActorCall<()>) {
        let _ = self.calls.send(Box::new(call)).await;
    }

    /// Asks the thread for what it answers without waiting.
    pub(crate) async fn call_now<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Actor) -> R + Send + 'static,
    ) -> Result<R, ThreadClosed> {
        self.call(|thread| async { call(thread) }.boxed()).await
    }

    /// The engine's own handle.
    pub(crate) async fn engine(&self) -> Result<codex_core::Thread, ThreadClosed> {
        self.call_now(|thread| thread.thread.clone()).await
    }

    fn is_closed(&self) -> bool {
        self.calls.is_closed()
    }

    /// Waits for the end of the thread.
    pub(crate) async fn closed(&self) {
        self.calls.closed().await;
    }
}

/// A turn that was accepted and has not started yet.
pub(crate) fn accepted_turn(id: String, root_turn_id: Option<String>) -> Turn {
    Turn {
        root_turn_id: Some(root_turn_id.unwrap_or_else(|| id.clone())),
        id,
        items: Vec::new(),
        status: TurnStatus::InProgress,
        error: None,
        started_at: None,
        completed_at: None,
        duration_ms: None,
        items_view: Some(TurnItemsView::NotLoaded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn queued_call_fails_when_its_thread_ends() {
        let (handle, mut queued) = ThreadHandle::new(true);
        let reply = handle.call_now(|_| ());
        let end = async {
            let call = queued.recv().await;
            drop(queued);
            drop(call);
        };
        assert_eq!(tokio::join!(reply, end).0, Err(ThreadClosed));
    }

    #[tokio::test]
    async fn call_to_ended_thread_fails() {
        let (handle, queued) = ThreadHandle::new(true);
        drop(queued);
        assert_eq!(handle.call_now(|_| ()).await, Err(ThreadClosed));
        handle.closed().await;
    }
}
