//! What happens after the end of a turn: updates the read state, and starts the next turn from the queue
//! or for the goal.

use std::sync::Arc;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::ThreadReadStateChangedNotification;
use codex_core::{NewTurn, StartTurn, TurnInput};
use codex_projection::{goal_cleared, goal_updated, wire_goal, wire_read_state};
use codex_protocol::ModeKind;
use codex_thread_state::{Goal, GoalStatus, ThreadState};

use super::actor::Actor;
use super::goal_prompt;
use crate::background_notifier::NotificationSink;
use crate::connection::Connection;

impl Actor {
    pub(super) fn state(&self) -> &Arc<ThreadState> {
        self.server.state()
    }

    /// Whether the thread is stored and can have a goal, a queue and a read state.
    pub(super) fn is_kept(&self) -> bool {
        self.facts.path.is_some() && !self.is_agent
    }

    /// Before the end of a turn is sent: charges its tokens to the goal and marks it as unread.
    pub(super) fn settle_turn(&mut self, now: i64, turn: &str, is_interrupted: bool) {
        if !self.is_kept() {
            return;
        }
        let goal = self.charge_goal_for_turn(now, turn, is_interrupted);
        let goes_on = self.may_continue(goal.as_ref()) && !is_interrupted;
        let mut subscribers = self.subscribers.values();
        let wants_read_state = subscribers.any(|one| one.connection.dialect().has_read_states());
        let is_for_user = self.facts.is_for_user();
        let is_news = self.follow_up.is_conversation && is_for_user && !is_interrupted && !goes_on;
        if is_news && wants_read_state {
            self.mark_unread(turn);
        } else if is_news {
            let thread = self.thread.id().to_string();
            self.state().remember_ended_turn(&thread, turn);
        }
        self.follow_up.is_held = is_interrupted || self.follow_up.is_at_limit;
        self.follow_up.is_queue_held = false;
    }

    fn mark_unread(&self, turn: &str) {
        let thread_id = self.thread.id().to_string();
        if let Some(state) = self.logged(self.state().mark_turn_unread(&thread_id, turn)) {
            let read_state = wire_read_state(state);
            self.notify(ServerNotification::ThreadReadStateChanged(
                ThreadReadStateChangedNotification {
                    thread_id,
                    read_state,
                },
            ));
        }
    }

    /// Whether the goal may start another turn now.
    fn may_continue(&self, goal: Option<&Goal>) -> bool {
        let is_active = goal.is_some_and(|goal| goal.status == GoalStatus::Active);
        is_active && self.server.host().has_goals() && self.thread.settings().mode != ModeKind::Plan
    }

    /// The objective is the preview of a thread that nobody has written to.
    fn show_objective(&mut self) {
        if !self.facts.preview.is_empty() {
            return;
        }
        let thread = self.thread.id().to_string();
        if let Some(goal) = self.logged(self.state().goal(&thread)).flatten() {
            self.facts.preview = goal.objective;
        }
    }

    /// The goal or the queue changed: an idle thread may start a turn.
    pub(crate) async fn work_changed(&mut self) {
        self.show_objective();
        self.start_next_turn().await;
    }

    /// Starts the next turn of an idle thread: from the queue if there is a message, otherwise for the goal.
    pub(super) async fn start_next_turn(&mut self) {
        let has_clients = !self.subscribers.is_empty();
        let is_idle = self.turn.is_none() && !self.is_closing && !self.follow_up.is_held;
        if !is_idle || !has_clients || !self.is_kept() || self.server.is_ending() {
            return;
        }
        if !self.follow_up.is_queue_held {
            let started = self.start_from_queue(None).await;
            if started.is_ok_and(|turn| turn.is_some()) {
                return;
            }
        }
        let thread = self.thread.id().to_string();
        let goal = self.logged(self.state().goal(&thread)).flatten();
        if let Some(goal) = goal.filter(|goal| self.may_continue(Some(goal))) {
            self.start_for_goal(&goal).await;
        }
    }

    async fn start_for_goal(&mut self, goal: &Goal) {
        let turn = NewTurn {
            id: uuid::Uuid::now_v7().to_string(),
            input: TurnInput {
                hidden: goal_prompt::items(goal),
                ..TurnInput::default()
            },
            ..NewTurn::default()
        };
        let started = self.thread.ask(|reply| StartTurn { turn, reply });
        match started.await {
            Ok(id) => {
                self.follow_up.is_for_goal = true;
                self.turn.get_or_insert(id);
            }
            Err(error) => tracing::warn!(%error, "the goal of a thread cannot go on"),
        }
    }

    /// A client has started a turn, which ends the hold after an interrupt.
    pub(crate) fn started_by_client(&mut self) {
        self.follow_up.is_held = false;
        self.follow_up.is_for_goal = false;
        self.follow_up.idle_turns = 0;
    }

    /// Queued messages wait until a turn has ended or a client starts one of them.
    pub(crate) fn hold_queue(&mut self) {
        self.follow_up.is_queue_held = true;
    }

    /// The goal waits until a client starts a turn.
    pub(crate) fn hold_goal(&mut self) {
        self.follow_up.is_held = true;
    }

    /// Sends the goal to a client that resumed the thread.
    pub(crate) fn show_goal(&self, connection: &Connection) {
        if !connection.dialect().shows_goal_of_resumed() || !self.is_kept() {
            return;
        }
        let thread = self.thread.id().to_string();
        let notification = match self.logged(self.state().goal(&thread)) {
            Some(Some(goal)) => goal_updated(wire_goal(&thread, goal), None),
            Some(None) => goal_cleared(&thread),
            None => return,
        };
        connection.notify(&notification);
    }

    pub(super) fn logged<T, E: std::fmt::Display>(&self, outcome: Result<T, E>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(error) => {
                tracing::warn!(%error, "the state of a thread is not available");
                None
            }
        }
    }
}
