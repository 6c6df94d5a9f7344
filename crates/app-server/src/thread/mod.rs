//! The actor behind each loaded thread.
//!
//! It handles the engine's events in order, notifies the subscribers of the thread, and serves requests about the
//! thread one after the other. A reply is therefore consistent with the notifications around it.

mod actor;
mod additional_context;
mod agents;
mod amend;
pub(crate) mod checkpoints;
mod commands;
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
mod questions;
mod queue_changed;
mod queue_handover;
mod queued_message;
mod queued_turn;
mod request_paths;
mod requested_sandbox;
mod restore;
mod revert;
mod review;
mod rollback;
mod status;
pub(crate) mod stored;
mod stored_lines;
mod stored_settings;
mod subscribers;
mod turn_end;
mod unload;
mod unload_time;
mod workplace;

use std::collections::HashMap;
use std::sync::Arc;

use codex_app_server_protocol::v2::{
    Thread, ThreadCheckpointRestoreParams, ThreadRealtimeEntry, ThreadResumeParams,
    ThreadSettingsUpdateParams, ThreadUnsubscribeStatus, Turn, TurnInterruptParams, TurnItemsView,
    TurnStartParams, TurnStatus, TurnSteerParams,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_core::{McpServer, TimeoutPauses};
use codex_protocol::{McpStartupStatus, Op, ReviewTarget};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use crate::connection::{Connection, ConnectionId, Responder};
use crate::first_turns::FirstTurn;
use codex_projection::RunningTurn;

pub(crate) use actor::Actor;
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
pub(crate) use stored_settings::GivenPolicy;
pub(crate) use workplace::RequestedPlace;

/// The limit of queued requests per thread.
const MAILBOX: usize = 128;

/// The handle of a loaded thread. Cheap to clone.
///
/// Commands are boxed, because a queue has room for 32 messages from the start.
#[derive(Clone, Debug)]
pub(crate) struct ThreadHandle(
    mpsc::Sender<Box<ThreadCommand>>,
    /// Whether clients may give the thread input.
    bool,
);

/// A request to a loaded thread.
#[derive(Debug)]
enum ThreadCommand {
    Start(
        Box<TurnStartParams>,
        FirstTurn,
        Responder<method::TurnStart>,
    ),
    Settings(
        Box<ThreadSettingsUpdateParams>,
        Responder<method::ThreadSettingsUpdate>,
    ),
    Continue(String, Responder<method::TurnContinue>),
    ContinueAsResumed,
    Steer(TurnSteerParams, Responder<method::TurnSteer>),
    Interrupt(TurnInterruptParams, Responder<method::TurnInterrupt>),
    Rollback(u32, Responder<method::ThreadRollback>),
    Review(ReviewTarget, Responder<method::ReviewStart>),
    Revert(String, Responder<method::ThreadRevert>),
    Restore(
        Box<ThreadCheckpointRestoreParams>,
        Responder<method::ThreadCheckpointRestore>,
    ),
    StartQueued(Option<String>, Responder<method::ThreadQueueStart>),
    StartNext,
    ChargeGoal(Option<String>, oneshot::Sender<()>),
    Notify(Box<ServerNotification>),
    Submit(Op, oneshot::Sender<()>),
    TimeoutPauses(oneshot::Sender<TimeoutPauses>),
    Engine(oneshot::Sender<codex_core::Thread>),
    McpServers(Vec<McpServer>),
    StoreSettings(oneshot::Sender<()>),
    Join(Box<ThreadResumeParams>, Responder<method::ThreadResume>),
    Describe(oneshot::Sender<Snapshot>),
    RealtimeItems(oneshot::Sender<Vec<ThreadRealtimeEntry>>),
    Subscribe(Arc<Connection>),
    SubscribeIfNone(Arc<Connection>),
    Leave(ConnectionId, oneshot::Sender<ThreadUnsubscribeStatus>),
    Answer {
        from: ConnectionId,
        question: i64,
        answer: Option<String>,
    },
    Close,
    /// Ends the thread if it only waits to be unloaded. Replies whether it does.
    CloseIfUnused(oneshot::Sender<bool>),
    CloseSilently,
}

/// The state of a loaded thread. All earlier turns can be read from its file.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Without turns.
    pub(crate) thread: Thread,
    /// The turn that runs.
    pub(crate) running: Option<RunningTurn>,
    /// The newest startup status of its MCP servers.
    pub(crate) mcp_servers: McpServers,
    /// The overrides of the request that opened it.
    pub(crate) overrides: Arc<Map<String, Value>>,
}

/// The startup status of MCP servers, by name.
pub(crate) type McpServers = HashMap<String, McpStartupStatus>;

impl ThreadHandle {
    fn new(takes_input: bool) -> (Self, mpsc::Receiver<Box<ThreadCommand>>) {
        let (sender, receiver) = mpsc::channel(MAILBOX);
        (Self(sender, takes_input), receiver)
    }

    /// Whether clients may give the thread input.
    pub(crate) fn takes_input(&self) -> bool {
        self.1
    }

    /// If the thread is closed, the command is dropped, and its responder replies.
    async fn send(&self, command: ThreadCommand) {
        let _ = self.0.send(Box::new(command)).await;
    }

    pub(crate) async fn start_turn(
        &self,
        params: TurnStartParams,
        first: FirstTurn,
        reply: Responder<method::TurnStart>,
    ) {
        self.send(ThreadCommand::Start(Box::new(params), first, reply))
            .await;
    }

    pub(crate) async fn continue_turn(&self, turn: String, reply: Responder<method::TurnContinue>) {
        self.send(ThreadCommand::Continue(turn, reply)).await;
    }

    /// Continues the turn that had not ended when its server did.
    pub(crate) async fn continue_as_resumed(&self) {
        self.send(ThreadCommand::ContinueAsResumed).await;
    }

    pub(crate) async fn update_settings(
        &self,
        params: ThreadSettingsUpdateParams,
        reply: Responder<method::ThreadSettingsUpdate>,
    ) {
        self.send(ThreadCommand::Settings(Box::new(params), reply))
            .await;
    }

    pub(crate) async fn steer(&self, params: TurnSteerParams, reply: Responder<method::TurnSteer>) {
        self.send(ThreadCommand::Steer(params, reply)).await;
    }

    pub(crate) async fn interrupt(
        &self,
        params: TurnInterruptParams,
        reply: Responder<method::TurnInterrupt>,
    ) {
        self.send(ThreadCommand::Interrupt(params, reply)).await;
    }

    pub(crate) async fn roll_back(&self, turns: u32, reply: Responder<method::ThreadRollback>) {
        self.send(ThreadCommand::Rollback(turns, reply)).await;
    }

    pub(crate) async fn review(&self, target: ReviewTarget, reply: Responder<method::ReviewStart>) {
        self.send(ThreadCommand::Review(target, reply)).await;
    }

    pub(crate) async fn revert(&self, before: String, reply: Responder<method::ThreadRevert>) {
        self.send(ThreadCommand::Revert(before, reply)).await;
    }

    pub(crate) async fn restore(
        &self,
        params: ThreadCheckpointRestoreParams,
        reply: Responder<method::ThreadCheckpointRestore>,
    ) {
        self.send(ThreadCommand::Restore(Box::new(params), reply))
            .await;
    }

    pub(crate) async fn start_queued(
        &self,
        id: Option<String>,
        reply: Responder<method::ThreadQueueStart>,
    ) {
        self.send(ThreadCommand::StartQueued(id, reply)).await;
    }

    /// Charges the goal for what the running turn has used, because it is about to change. `turn` is the one that changes it.
    pub(crate) async fn charge_goal(&self, turn: Option<String>) {
        let (done, charged) = oneshot::channel();
        self.send(ThreadCommand::ChargeGoal(turn, done)).await;
        let _ = charged.await;
    }

    /// The goal changed: an active goal may start a turn of an idle thread.
    pub(crate) async fn goal_changed(&self) {
        self.send(ThreadCommand::StartNext).await;
    }

    /// A message was queued: an idle thread starts with it.
    pub(crate) async fn queue_grew(&self) {
        self.send(ThreadCommand::StartNext).await;
    }

    /// Notifies the subscribers.
    pub(crate) async fn notify(&self, notification: ServerNotification) {
        self.send(ThreadCommand::Notify(Box::new(notification)))
            .await;
    }

    /// Submits an operation to the engine. Returns false if the thread is closed.
    pub(crate) async fn submit(&self, op: Op) -> bool {
        let (done, submitted) = oneshot::channel();
        self.send(ThreadCommand::Submit(op, done)).await;
        submitted.await.is_ok()
    }

    /// The engine's own handle; none if the thread is closed.
    pub(crate) async fn engine(&self) -> Option<codex_core::Thread> {
        let (reply, engine) = oneshot::channel();
        self.send(ThreadCommand::Engine(reply)).await;
        engine.await.ok()
    }

    /// Pauses the time limits of its commands; none if the thread is closed.
    pub(crate) async fn timeout_pauses(&self) -> Option<TimeoutPauses> {
        let (reply, timeout_pauses) = oneshot::channel();
        self.send(ThreadCommand::TimeoutPauses(reply)).await;
        timeout_pauses.await.ok()
    }

    /// Writes the settings to the file of the thread, if it has one without them.
    pub(crate) async fn store_settings(&self) {
        let (reply, stored) = oneshot::channel();
        self.send(ThreadCommand::StoreSettings(reply)).await;
        let _ = stored.await;
    }

    /// Replaces the MCP servers from the next turn on.
    pub(crate) async fn set_mcp_servers(&self, servers: Vec<McpServer>) {
        self.send(ThreadCommand::McpServers(servers)).await;
    }

    pub(crate) async fn join(
        &self,
        params: ThreadResumeParams,
        reply: Responder<method::ThreadResume>,
    ) {
        self.send(ThreadCommand::Join(Box::new(params), reply))
            .await;
    }

    /// The current state; none if the thread is closed.
    pub(crate) async fn describe(&self) -> Option<Snapshot> {
        let (reply, snapshot) = oneshot::channel();
        self.send(ThreadCommand::Describe(reply)).await;
        snapshot.await.ok()
    }

    /// What was said in its realtime conversations since it was loaded; none if it is being closed.
    pub(crate) async fn realtime_items(&self) -> Option<Vec<ThreadRealtimeEntry>> {
        let (reply, items) = oneshot::channel();
        self.send(ThreadCommand::RealtimeItems(reply)).await;
        items.await.ok()
    }

    /// Subscribes this client.
    pub(crate) async fn subscribe(&self, connection: &Arc<Connection>) {
        let connection = Arc::clone(connection);
        self.send(ThreadCommand::Subscribe(connection)).await;
    }

    /// Subscribes this client if the thread has no subscriber, and sends it the open questions.
    async fn subscribe_if_none(&self, connection: &Arc<Connection>) {
        let connection = Arc::clone(connection);
        self.send(ThreadCommand::SubscribeIfNone(connection)).await;
    }

    pub(crate) async fn leave(&self, connection: ConnectionId) -> ThreadUnsubscribeStatus {
        let (reply, status) = oneshot::channel();
        self.send(ThreadCommand::Leave(connection, reply)).await;
        status.await.unwrap_or(ThreadUnsubscribeStatus::NotLoaded)
    }

    /// Passes on the answer of a client, which counts only if that client was asked.
    pub(crate) async fn answer(&self, from: ConnectionId, question: i64, answer: Option<String>) {
        let command = ThreadCommand::Answer {
            from,
            question,
            answer,
        };
        self.send(command).await;
    }

    /// Ends the thread because its file is about to move, and waits for its end. The caller sends its own
    /// notification instead of `thread/closed`.
    pub(crate) async fn close_silently(&self) {
        self.send(ThreadCommand::CloseSilently).await;
        self.0.closed().await;
    }

    /// Ends the thread if it only waits to be unloaded, and waits for its end. Returns whether it has ended.
    pub(crate) async fn close_if_unused(&self) -> bool {
        let (reply, closes) = oneshot::channel();
        self.send(ThreadCommand::CloseIfUnused(reply)).await;
        let closes = closes.await.unwrap_or(true);
        if closes {
            self.0.closed().await;
        }
        closes
    }

    /// Ends the thread and waits for its end.
    pub(crate) async fn close(&self) {
        self.send(ThreadCommand::Close).await;
        self.0.closed().await;
    }
}

/// A turn that was accepted and has not started yet.
fn accepted_turn(id: String, root_turn_id: Option<String>) -> Turn {
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
