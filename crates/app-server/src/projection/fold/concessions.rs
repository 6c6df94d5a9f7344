//! Compatibility with clients of 0.117: exceptions from "each item starts once and ends once". There are four, and
//! reviews, which have their own file:
//!
//! - A command or file change that was asked about and declined ends twice: at once, and again with
//!   the text that the model was given. If the answer was an error, the first end says `failed`. For newer clients a
//!   file change ends once.
//! - A command of `exec_command` begins when it runs, so one that was declined has an end alone.
//! - A message, plan, reasoning, command or call of a tool of MCP or for agents that is unfinished when its turn is
//!   interrupted has no end of its own: the end of the turn is its end, and has it as far as it got.
//! - A compaction that fails or is interrupted has no end of its own either, and is no part of the
//!   turn: the history is as it was.
//!
//! The resulting turns are the same with and without these exceptions, so stored turns equal streamed ones.

use codex_app_server_protocol::v2::{ThreadItem, TimedItem, TurnStatus};

use super::consumer::Consumer;
use super::state::{EventContext, Fold};
use crate::projection::item;

/// Whether the end of the turn replaces the end of the item.
pub(super) fn ends_with_turn(item: &ThreadItem, status: TurnStatus) -> bool {
    status == TurnStatus::Interrupted && takes_time(item)
}

/// Whether an item that is open when its turn ends is completed at all.
pub(super) fn needs_end(item: &ThreadItem) -> bool {
    !matches!(item, ThreadItem::ContextCompaction { .. })
}

/// Whether the item takes time: it is streamed, or it runs.
fn takes_time(item: &ThreadItem) -> bool {
    matches!(
        item,
        ThreadItem::AgentMessage { .. }
            | ThreadItem::Plan { .. }
            | ThreadItem::Reasoning { .. }
            | ThreadItem::CommandExecution { .. }
            | ThreadItem::McpToolCall { .. }
            | ThreadItem::CollabAgentToolCall { .. }
    )
}

impl<C: Consumer> Fold<C> {
    /// A client has interrupted this turn.
    pub(crate) fn stopping(&mut self, turn_id: &str) {
        if let Some(turn) = self.turn_mut(turn_id) {
            let unfinished = turn.running.iter().filter(|item| takes_time(item));
            let unfinished = unfinished.map(|item| item::id_of(item).to_owned());
            turn.concessions.cut = unfinished.collect();
        }
    }

    /// Clients are asked about the item.
    pub(super) fn asked_about(&mut self, turn_id: &str, item_id: &str) {
        if let Some(turn) = self.turn_mut(turn_id) {
            turn.concessions.asked.insert(item_id.to_owned());
        }
    }

    /// The client has replied with an error to the question about the item.
    pub(crate) fn refused_with_error(&mut self, turn_id: &str, item_id: &str) {
        if let Some(turn) = self.turn_mut(turn_id) {
            let refused = &mut turn.concessions.refused_with_error;
            refused.insert(item_id.to_owned());
        }
    }

    /// Whether the item has no `item/started`.
    pub(super) fn never_began(
        &mut self,
        context: EventContext<'_>,
        turn_id: &str,
        item_id: &str,
    ) -> bool {
        let turn = self.turn_mut(turn_id);
        context.is_live() && turn.is_some_and(|turn| !turn.ids.contains(item_id))
    }

    /// Ends an item that was declined before it started.
    pub(super) fn complete_unbegun(
        &mut self,
        context: EventContext<'_>,
        turn_id: &str,
        item: ThreadItem,
    ) {
        let ended = context.at_once(item);
        if let Some(turn) = self.turn_mut(turn_id) {
            turn.ids.insert(item::id_of(&ended).to_owned());
            turn.completed.push(ended.clone());
            let item = item::bare(ended.item);
            let ended = TimedItem { item, ..ended };
            self.consumer.item_completed(turn_id, &ended, context.now);
        }
    }

    /// Ends a declined item, with the text for the model.
    pub(super) fn complete_declined(
        &mut self,
        context: EventContext<'_>,
        turn_id: &str,
        item: ThreadItem,
    ) {
        let id = item::id_of(&item).to_owned();
        let Some(turn) = self.turn_mut(turn_id) else {
            self.consumer.turn_missing(turn_id);
            return;
        };
        if !turn.concessions.asked.remove(&id) {
            return self.complete(context, Some(turn_id), item);
        }
        let first = item::bare(item.clone());
        let first = if turn.concessions.refused_with_error.remove(&id) {
            item::broken_off(first)
        } else {
            first
        };
        self.complete(context, Some(turn_id), first);
        let Some(turn) = self.turns.iter_mut().rev().find(|turn| turn.id == turn_id) else {
            return;
        };
        let is_it = |other: &&mut TimedItem| item::id_of(other) == id;
        if let Some(ended) = turn.completed.iter_mut().rev().find(is_it) {
            ended.item = item;
            self.consumer.declined_again(turn_id, ended, context.now);
        }
    }

    /// At the end of the turn: sends the held ends, unless the end of the turn replaces them.
    pub(super) fn release_held_items(
        &mut self,
        context: EventContext<'_>,
        position: usize,
        status: TurnStatus,
    ) {
        let turn = &mut self.turns[position];
        turn.concessions.cut.clear();
        for item in std::mem::take(&mut turn.concessions.held) {
            if !ends_with_turn(&item, status) {
                self.consumer.item_completed(&turn.id, &item, context.now);
            }
        }
    }
}
