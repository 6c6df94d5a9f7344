//! The loop of a loaded thread: handles events of the engine and requests of clients.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use codex_app_server_protocol::v2::{
    DeprecationNoticeNotification, EnvironmentConnectionNotification, ThreadClosedNotification,
    ThreadStatus, ThreadStatusChangedNotification, TurnInterruptResponse,
};
use codex_app_server_protocol::{ServerNotification, ServerRequest, client_method as method};
use codex_core::{EventReceiver, SpawnedAgent, ThreadManager};
use codex_environments::ConnectionChange;
use codex_projection::{ClientQuestion, Fold, Notifications, preview_of_message};
use codex_protocol::{Event, EventMsg, McpStartupStatus, ThreadSettings};
use jiff::Timestamp;
use tokio::sync::{broadcast, mpsc};

use super::additional_context::AdditionalContext;
use super::follow_up::FollowUp;
use super::pending_rollback::{PendingRollback, end_of_first};
use super::status::Activity;
use super::subscribers::Subscribers;
use super::unload_time::Unloading;
use super::{ContinuableTurn, QueuedCall, ThreadFacts, ThreadHandle};
use crate::connection::{Connection, ConnectionId, Responder};
use crate::first_turns::FirstTurn;
use crate::server::AppServer;

/// The startup status of MCP servers, by name.
pub(crate) type McpServers = HashMap<String, McpStartupStatus>;

/// An unanswered question.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    pub(super) question: ClientQuestion,
    pub(super) request: ServerRequest,
    /// The clients that were sent it.
    pub(super) asked: BTreeSet<ConnectionId>,
}

/// The actor of a loaded thread.
#[derive(Debug)]
pub(crate) struct Actor {
    pub(crate) server: Arc<AppServer>,
    pub(super) manager: Arc<ThreadManager>,
    pub(crate) thread: codex_core::Thread,
    pub(super) handle: ThreadHandle,
    pub(crate) facts: ThreadFacts,
    pub(crate) fold: Fold<Notifications>,
    pub(super) additional_context: AdditionalContext,
    pub(super) subscribers: Subscribers,
    /// Sent to its first subscriber.
    pub(crate) deprecations: Vec<DeprecationNoticeNotification>,
    pub(super) pending: BTreeMap<i64, OpenQuestion>,
    pub(crate) interrupts: Vec<Responder<method::TurnInterrupt>>,
    pub(super) mcp_servers: McpServers,
    /// Turns that the engine takes back, in the order in which it was asked.
    pub(super) rollbacks: VecDeque<PendingRollback>,
    /// A revert that waits for the end of the running turn: the first turn to remove, and the reply.
    pub(super) revert_after_turn: Option<(String, Responder<method::ThreadRevert>)>,
    pub(super) follow_up: FollowUp,
    /// Until the message of its first turn is stored.
    pub(crate) first_turn: Option<Arc<FirstTurn>>,
    /// The settings as they stand in its file, if they do.
    pub(crate) stored_settings: Option<ThreadSettings>,
    /// The running or accepted turn.
    pub(crate) turn: Option<String>,
    /// Its last turn, if that had not ended when its server did and no other has started since.
    pub(crate) unfinished: Option<ContinuableTurn>,
    pub(super) is_closing: bool,
    /// Whether the caller that closes the thread sends the notification.
    pub(super) is_closed_silently: bool,
    /// Whether the thread is an agent, which only its parent closes.
    pub(super) is_agent: bool,
    /// Its agents; and the started agents that are not loaded yet.
    pub(super) agents: Vec<ThreadHandle>,
    pub(super) agents_to_load: mpsc::Receiver<Box<SpawnedAgent>>,
    pub(super) unloading: Unloading,
    activity: Activity,
    status: ThreadStatus,
    /// Lost and found connections to other machines.
    connection_changes: broadcast::Receiver<ConnectionChange>,
    events: EventReceiver,
    mailbox: mpsc::Receiver<QueuedCall>,
}

impl Actor {
    /// Registers the thread. Requests for its id are queued until the thread runs.
    pub(crate) fn new(
        server: Arc<AppServer>,
        manager: Arc<ThreadManager>,
        thread: codex_core::Thread,
        events: EventReceiver,
        agents_to_load: mpsc::Receiver<Box<SpawnedAgent>>,
        facts: ThreadFacts,
    ) -> Self {
        let (handle, mailbox) = ThreadHandle::new(facts.takes_input());
        let id = thread.id().to_string();
        server.add_thread(id.clone(), handle.clone());
        let connection_changes = server.host().environments().changes();
        Self {
            connection_changes,
            server,
            manager,
            thread,
            handle,
            facts,
            fold: Fold::live(id),
            additional_context: AdditionalContext::default(),
            subscribers: Subscribers::default(),
            deprecations: Vec::new(),
            pending: BTreeMap::new(),
            interrupts: Vec::new(),
            mcp_servers: McpServers::default(),
            rollbacks: VecDeque::new(),
            revert_after_turn: None,
            follow_up: FollowUp::default(),
            first_turn: None,
            stored_settings: None,
            turn: None,
            unfinished: None,
            is_closing: false,
            is_closed_silently: false,
            is_agent: false,
            agents: Vec::new(),
            agents_to_load,
            unloading: Unloading::default(),
            activity: Activity::default(),
            status: ThreadStatus::Idle,
            events,
            mailbox,
        }
    }

    /// Starts the actor with its first subscriber.
    pub(crate) fn launch(mut self, subscriber: &Arc<Connection>) -> ThreadHandle {
        let handle = self.handle.clone();
        self.subscribe(subscriber);
        for notice in std::mem::take(&mut self.deprecations) {
            self.notify(ServerNotification::DeprecationNotice(notice));
        }
        self.spawn();
        handle
    }

    pub(super) fn spawn(self) {
        tokio::spawn(self.run());
    }

    /// What happens rarely is boxed, so that an idle thread holds no room for it.
    async fn run(mut self) {
        let mut batch = Vec::new();
        let mut waiting = VecDeque::new();
        let mut is_open = true;
        let mut rollback_end = None;
        loop {
            self.handle_events(&mut waiting).await;
            if waiting.is_empty() {
                if let Some(end) = rollback_end.take() {
                    Box::pin(self.rollback_ended(end)).await;
                }
                if !is_open {
                    // The engine has dropped what it was still asked for, which is how that ends.
                    while !self.rollbacks.is_empty() {
                        let end = end_of_first(&mut self.rollbacks).await;
                        Box::pin(self.rollback_ended(end)).await;
                    }
                    break;
                }
            }
            tokio::select! {
                open = self.events.next_batch(&mut batch), if waiting.is_empty() => {
                    is_open = open;
                    self.take_agents();
                    waiting.extend(batch.drain(..));
                }
                () = room_of_one(&self.subscribers), if !waiting.is_empty() => {}
                () = self.unloading.due() => self.close(),
                Ok(change) = self.connection_changes.recv() => self.notify_connection(change),
                Some(agent) = self.agents_to_load.recv() => self.take_agent(*agent),
                end = end_of_first(&mut self.rollbacks), if rollback_end.is_none() => {
                    rollback_end = Some(end);
                    // What happened before its end comes before its reply.
                    self.events.take_queued(&mut batch);
                    self.take_agents();
                    waiting.extend(batch.drain(..));
                }
                Some(call) = self.mailbox.recv() => {
                    if waiting.is_empty() {
                        // What happened before the call comes before its reply.
                        self.events.take_queued(&mut batch);
                        self.take_agents();
                        waiting.extend(batch.drain(..));
                        Box::pin(self.handle_events(&mut waiting)).await;
                    }
                    call(&mut self).await;
                }
            }
        }
        self.end();
    }

    /// Tells clients that a machine of the thread can be used again, or cannot any more.
    fn notify_connection(&self, change: ConnectionChange) {
        let environment_id = change.environment;
        let settings = self.thread.settings();
        if !settings
            .environments
            .iter()
            .any(|one| one.id == environment_id)
        {
            return;
        }
        let params = EnvironmentConnectionNotification {
            thread_id: self.thread.id().to_string(),
            environment_id,
        };
        self.notify(if change.is_connected {
            ServerNotification::ThreadEnvironmentConnected(params)
        } else {
            ServerNotification::ThreadEnvironmentDisconnected(params)
        });
    }

    /// Whether to take more events. While every subscriber has much to read, events wait, and with them commands and
    /// the model. One subscriber that reads is enough, so a slow one delays nobody; it is disconnected if it falls
    /// too far behind.
    fn may_take_events(&self) -> bool {
        let mut subscribers = self.subscribers.values();
        self.is_closing
            || self.subscribers.is_empty()
            || subscribers.any(|subscriber| subscriber.connection.outbox().has_room())
    }

    /// The engine has closed the thread.
    fn end(mut self) {
        self.settle_questions();
        let thread_id = self.thread.id().to_string();
        self.server.remove_thread(&thread_id);
        if self.server.is_ending() {
            return;
        }
        let status = ThreadStatus::NotLoaded;
        self.server
            .broadcast(&ServerNotification::ThreadStatusChanged(
                ThreadStatusChangedNotification {
                    thread_id: thread_id.clone(),
                    status,
                },
            ));
        if !self.is_closed_silently && !self.is_agent {
            self.server.broadcast(&ServerNotification::ThreadClosed(
                ThreadClosedNotification { thread_id },
            ));
        }
    }

    /// Handles events for as long as the subscribers take them.
    async fn handle_events(&mut self, waiting: &mut VecDeque<Event>) {
        // A connection that is lost is told before what it ended.
        while let Ok(change) = self.connection_changes.try_recv() {
            self.notify_connection(change);
        }
        while self.may_take_events()
            && let Some(event) = waiting.pop_front()
        {
            self.handle_event(&event).await;
        }
    }

    async fn handle_event(&mut self, event: &Event) {
        self.activity.take(&event.msg);
        if let EventMsg::UserMessage(message) = &event.msg
            && self.facts.preview.is_empty()
        {
            let shown = preview_of_message(message).unwrap_or_default();
            shown.clone_into(&mut self.facts.preview);
        }
        if let EventMsg::UserMessage(message) = &event.msg
            && let Some(handed_over) = &mut self.follow_up.handed_over
        {
            handed_over.note(message);
        }
        if let EventMsg::UserMessage(_) = &event.msg
            && let Some(first) = self.first_turn.take()
        {
            let thread = self.thread.clone();
            tokio::spawn(async move {
                // What cannot be written is told at the end of the turn.
                let _ = thread.flush().await;
                drop(first);
            });
        }
        self.take_dialects();
        if let Some(tokens) = self.fold.tokens_before(&event.msg) {
            self.notify_of_turn(&tokens);
        }
        let now = Timestamp::now().as_millisecond();
        self.follow_up.take(now, &event.msg);
        self.charge_goal_for(now, &event.msg);
        let changes = self.fold.apply(&event.id, now, &event.msg);
        match &event.msg {
            EventMsg::TurnStarted(started) => {
                self.turn = Some(started.turn_id.clone());
                self.unfinished = None;
                self.stay_loaded();
            }
            EventMsg::TurnComplete(complete) => {
                Box::pin(self.store_settings_of(&complete.turn_id)).await;
                let is_failed = self.follow_up.failure.is_some() || self.follow_up.is_at_limit;
                let is_back = Box::pin(self.end_handover(&complete.turn_id, is_failed)).await;
                self.settle_turn(now, &complete.turn_id, false);
                if is_back {
                    // What made this turn fail may make the next one fail.
                    self.hold_queue();
                }
                self.turn_ended();
            }
            EventMsg::TurnAborted(aborted) => {
                let turn = aborted.turn_id.clone().unwrap_or_default();
                Box::pin(self.store_settings_of(&turn)).await;
                Box::pin(self.end_handover(&turn, true)).await;
                self.settle_turn(now, &turn, true);
                self.turn_ended();
            }
            EventMsg::ExecApprovalWithdrawn(withdrawn) => {
                self.withdraw_question(&withdrawn.call_id);
            }
            EventMsg::AgentMessage(message) => {
                if let Some(citation) = &message.memory_citation {
                    self.note_memory_uses(citation.rollout_ids.clone());
                }
            }
            EventMsg::McpStartupUpdate(update) => {
                let (server, status) = (update.server.clone(), update.status.clone());
                self.mcp_servers.insert(server, status);
            }
            _ => {}
        }
        self.notify_status();
        for change in &changes {
            self.notify_of_turn(change);
        }
        self.ask(now, &event.msg);
        if let Some(op) = codex_projection::unaskable(&event.msg) {
            let _ = Box::pin(self.thread.submit(op)).await;
        }
        if let EventMsg::ThreadRolledBack(_) = event.msg {
            self.unfinished = None;
        }
        if self.turn.is_none() {
            if self.revert_after_turn.is_some() {
                Box::pin(self.revert_now()).await;
            }
            self.close_if_alone();
        }
        if matches!(event.msg, EventMsg::TurnComplete(_)) {
            Box::pin(self.start_next_turn()).await;
        }
    }

    /// An answer was based on memories of these threads.
    fn note_memory_uses(&self, threads: Vec<String>) {
        let store = Arc::clone(self.server.host().memories());
        tokio::task::spawn_blocking(move || {
            if let Err(error) = store.note_uses(&threads) {
                tracing::warn!(%error, "a use of memories is not counted");
            }
        });
    }

    fn turn_ended(&mut self) {
        self.turn = None;
        self.first_turn = None;
        self.settle_questions();
        for interrupt in self.interrupts.drain(..) {
            interrupt.accept(&TurnInterruptResponse {});
        }
    }

    pub(super) fn status(&self) -> ThreadStatus {
        let waiting = self
            .pending
            .values()
            .filter_map(|pending| pending.question.waiting_for());
        self.activity.status(waiting)
    }

    /// Notifies all clients if the status changed.
    pub(super) fn notify_status(&mut self) {
        let status = self.status();
        if status != self.status {
            self.status = status.clone();
            let thread_id = self.thread.id().to_string();
            let changed = ThreadStatusChangedNotification { thread_id, status };
            self.server
                .broadcast(&ServerNotification::ThreadStatusChanged(changed));
        }
    }
}

/// Waits until one of the subscribers may receive more.
async fn room_of_one(subscribers: &Subscribers) {
    let rooms = subscribers
        .values()
        .map(|subscriber| Box::pin(subscriber.connection.outbox().room()));
    futures::future::select_all(rooms).await;
}
