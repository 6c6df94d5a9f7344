//! What clients are told while the fold goes on.

use codex_app_server_protocol::ServerNotification as Told;
use codex_app_server_protocol::v2::*;
use codex_protocol as v1;
use codex_protocol::EventMsg;

use super::review::Review;
use super::told::told_by;
use super::{Fold, FoldedTurn, Listener};
use crate::projection::item::id_of;
use crate::projection::limits::wire_limits;
use crate::projection::turn_error::turn_error;

impl Fold {
    fn tell(&mut self, notification: Told) {
        if self.has_listener() {
            self.told.push(notification);
        }
    }

    pub(super) fn has_listener(&self) -> bool {
        self.listener == Listener::Clients
    }

    pub(super) fn tell_turn_started(&mut self, turn: &FoldedTurn) {
        if !self.has_listener() {
            return;
        }
        let mut told = turn.with_items(Vec::new(), TurnItemsView::NotLoaded);
        if turn.review == Review::Runs {
            told.id = uuid::Uuid::now_v7().to_string();
        }
        let turn = told;
        let thread_id = self.thread.clone();
        self.tell(Told::TurnStarted(TurnStartedNotification {
            thread_id,
            turn,
        }));
    }

    pub(super) fn tell_turn_completed(&mut self, position: usize) {
        if !self.has_listener() {
            return;
        }
        let (thread_id, turn) = (self.thread.clone(), self.turns[position].to_turn());
        self.tell(Told::TurnCompleted(TurnCompletedNotification {
            thread_id,
            turn,
        }));
    }

    pub(super) fn tell_begun_in(&mut self, position: usize, item: &ThreadItem) {
        if self.has_listener() {
            let turn_id = self.turns[position].id.clone();
            let begun = self.begun(item.clone());
            self.tell_item_started(&turn_id, begun);
        }
    }

    /// Tells of the item that a turn has last.
    pub(super) fn tell_last_completed(&mut self, position: usize) {
        if !self.has_listener() {
            return;
        }
        let turn = &self.turns[position];
        if let Some(item) = turn.completed.last() {
            let (turn_id, item) = (turn.id.clone(), item.clone());
            self.tell_item_completed(&turn_id, item);
        }
    }

    pub(super) fn tell_item_started(&mut self, turn_id: &str, item: TimedItem) {
        let thread_id = self.thread.clone();
        let turn_id = turn_id.to_owned();
        let started_at_ms = self.now;
        self.tell(Told::ItemStarted(ItemStartedNotification {
            item,
            thread_id,
            turn_id,
            started_at_ms,
        }));
    }

    pub(super) fn tell_item_completed(&mut self, turn_id: &str, item: TimedItem) {
        let thread_id = self.thread.clone();
        let turn_id = turn_id.to_owned();
        let completed_at_ms = self.now;
        self.tell(Told::ItemCompleted(ItemCompletedNotification {
            item,
            thread_id,
            turn_id,
            completed_at_ms,
        }));
    }

    pub(super) fn tell_error(&mut self, turn_id: &str, error: TurnError, will_retry: bool) {
        let thread_id = self.thread.clone();
        let turn_id = turn_id.to_owned();
        self.tell(Told::Error(ErrorNotification {
            error,
            will_retry,
            thread_id,
            turn_id,
        }));
    }

    pub(super) fn tell_patch_output(&mut self, turn_id: &str, item_id: &str, output: &str) {
        let thread_id = self.thread.clone();
        self.tell(Told::FileChangeOutputDelta(
            FileChangeOutputDeltaNotification {
                thread_id,
                turn_id: turn_id.to_owned(),
                item_id: item_id.to_owned(),
                delta: output.to_owned(),
            },
        ));
    }

    /// A warning of the engine, unless it comes again and again and is no news.
    fn tell_warning(&mut self, id: &str, message: &str) {
        let is_usual = match self.turn_mut(id) {
            // Before each turn: that nothing is known of its model.
            None => !id.is_empty(),
            // After each compaction: that long threads are less accurate.
            Some(turn) => turn
                .completed
                .last()
                .is_some_and(|last| matches!(last.item, ThreadItem::ContextCompaction { .. })),
        };
        if !is_usual {
            let thread_id = Some(self.thread.clone());
            let message = message.to_owned();
            self.tell(Told::Warning(WarningNotification { message, thread_id }));
        }
    }

    /// Events that make no item and no turn.
    pub(super) fn tell_of(&mut self, id: &str, event: &EventMsg) {
        match event {
            EventMsg::ExecCommandOutputDelta(delta) => self.tell_output(id, delta),
            EventMsg::TerminalInteraction(interaction) => self.tell_interaction(id, interaction),
            EventMsg::StreamError(error) => {
                let info = error.codex_error_info.as_ref();
                let details = error.additional_details.as_deref();
                self.tell_error(id, turn_error(&error.message, info, details), true);
            }
            EventMsg::TokenCount(count) => self.tell_usage(id, count),
            EventMsg::Warning(warning) => self.tell_warning(id, &warning.message),
            _ => {
                if let Some(told) = told_by(&self.thread, id, event) {
                    self.tell(told);
                }
            }
        }
    }

    /// The turn in which an item that still runs began, or else the one that an event is of.
    fn turn_of(&self, item_id: &str, event: &str) -> String {
        let has = |item: &TimedItem| id_of(item) == item_id;
        let mut turns = self.turns.iter();
        let turn = turns.find(|turn| turn.running.iter().any(has));
        turn.map_or(event, |turn| &turn.id).to_owned()
    }

    fn tell_interaction(&mut self, turn_id: &str, interaction: &v1::TerminalInteractionEvent) {
        let turn_id = self.turn_of(&interaction.call_id, turn_id);
        self.tell(Told::TerminalInteraction(TerminalInteractionNotification {
            thread_id: self.thread.clone(),
            turn_id,
            item_id: interaction.call_id.clone(),
            process_id: interaction.process_id.clone(),
            stdin: interaction.stdin.clone(),
        }));
    }

    fn tell_usage(&mut self, turn_id: &str, count: &v1::TokenCountEvent) {
        if let Some(info) = &count.info {
            self.tell(Told::ThreadTokenUsageUpdated(
                ThreadTokenUsageUpdatedNotification {
                    thread_id: self.thread.clone(),
                    turn_id: turn_id.to_owned(),
                    token_usage: usage(info),
                },
            ));
        }
        if let Some(limits) = &count.rate_limits {
            let rate_limits = wire_limits(limits);
            self.tell(Told::AccountRateLimitsUpdated(
                AccountRateLimitsUpdatedNotification { rate_limits },
            ));
        }
    }

    fn tell_output(&mut self, turn_id: &str, output: &v1::ExecCommandOutputDeltaEvent) {
        let turn_id = self.turn_of(&output.call_id, turn_id);
        let delta = String::from_utf8_lossy(&output.chunk.0).into_owned();
        self.tell(Told::CommandExecutionOutputDelta(
            CommandExecutionOutputDeltaNotification {
                thread_id: self.thread.clone(),
                turn_id,
                item_id: output.call_id.clone(),
                delta,
            },
        ));
    }
}

fn usage(info: &v1::TokenUsageInfo) -> ThreadTokenUsage {
    let breakdown = |usage: &v1::TokenUsage| TokenUsageBreakdown {
        total_tokens: usage.total_tokens,
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cached_input_tokens,
        output_tokens: usage.output_tokens,
        reasoning_output_tokens: usage.reasoning_output_tokens,
    };
    ThreadTokenUsage {
        total: breakdown(&info.total_token_usage),
        last: breakdown(&info.last_token_usage),
        model_context_window: info.model_context_window,
    }
}
