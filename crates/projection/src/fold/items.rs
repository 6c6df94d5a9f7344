//! Starts and completes items of turns, with their times.

use codex_app_server_protocol::v2::{ThreadItem, TimedItem};
use codex_protocol::EventMsg;

use super::consumer::Consumer;
use super::state::{EventContext, Fold};
use crate::{collab, item};

impl EventContext<'_> {
    /// An item that starts now.
    fn begun(&self, item: ThreadItem) -> TimedItem {
        TimedItem {
            item,
            started_at_ms: self.item_time,
            completed_at_ms: None,
        }
    }

    /// An item that starts and ends now.
    pub(super) fn at_once(&self, item: ThreadItem) -> TimedItem {
        TimedItem {
            completed_at_ms: self.item_time,
            ..self.begun(item)
        }
    }

    /// An item that ends now and whose start is unknown: only the ends of stored items are stored.
    fn ended(&self, item: ThreadItem) -> TimedItem {
        if self.is_live() {
            return self.at_once(item);
        }
        let began = |end: i64| Some(end.saturating_sub(item::duration_of(&item)?));
        TimedItem {
            // A message is stored at its end; its start is not stored.
            started_at_ms: self.item_time.and_then(began).or(self.item_time),
            completed_at_ms: self.item_time,
            item,
        }
    }
}

impl<C: Consumer> Fold<C> {
    /// Starts an item. Ignored if it has started already.
    pub(super) fn start(&mut self, context: EventContext<'_>, turn_id: &str, item: ThreadItem) {
        if !context.is_live() {
            // Unfinished items of stored turns are not known completely, so they are not shown.
            return;
        }
        let Some(turn) = self.turns.iter_mut().rev().find(|turn| turn.id == turn_id) else {
            return;
        };
        if turn.ids.insert(item::id_of(&item).to_owned()) {
            self.consumer.item_started(turn_id, &item, context.now);
            turn.running.push(context.begun(item));
        }
    }

    /// Completes an item. Starts it first if it has not started.
    pub(super) fn complete(
        &mut self,
        context: EventContext<'_>,
        turn_id: Option<&str>,
        item: ThreadItem,
    ) {
        let position = match turn_id.filter(|id| !id.is_empty()) {
            Some(id) => self.turns.iter().rposition(|turn| turn.id == id),
            None => Some(self.open_position(context)),
        };
        let Some(position) = position else {
            self.consumer.turn_missing(turn_id.unwrap_or_default());
            return;
        };
        self.consumer.turn_changed(self.earlier.count + position);
        let turn = &mut self.turns[position];
        turn.unpack();
        let is_it = |other: &TimedItem| item::id_of(other) == item::id_of(&item);
        let ended = if let Some(running) = turn.running.iter().position(is_it) {
            let begun = turn.running.remove(running);
            TimedItem {
                item,
                completed_at_ms: context.item_time,
                ..begun
            }
        } else if turn.ids.insert(item::id_of(&item).to_owned()) {
            let begun = item::as_begun(item.clone());
            self.consumer.item_started(&turn.id, &begun, context.now);
            context.ended(item)
        } else {
            let earlier = turn.completed.iter().position(is_it);
            if let (false, Some(earlier)) = (context.is_live(), earlier) {
                // Of several ends the last one is kept.
                turn.completed[earlier] = context.ended(item);
            }
            return;
        };
        let end = turn.end_of(&ended);
        self.consumer
            .item_completed(&turn.id, &ended, end, context.now);
        turn.completed.push(ended);
    }

    pub(super) fn end_patch(
        &mut self,
        context: EventContext<'_>,
        end: &codex_protocol::PatchApplyEndEvent,
    ) {
        if !end.stdout.is_empty() {
            self.consumer
                .patch_output(&end.turn_id, &end.call_id, &end.stdout);
        }
        if end.stderr.is_empty()
            && let Some(turn) = self.turn_mut(&end.turn_id)
        {
            // A cancelled patch has no text for the model: the turn does not go on.
            turn.asked.remove(&end.call_id);
        }
        self.complete(context, Some(&end.turn_id), item::patch_ended(end));
    }

    /// Starts or completes the item of an agent tool, if the event is about one.
    pub(super) fn take_call_for_agents(&mut self, context: EventContext<'_>, event: &EventMsg) {
        if let Some(item) = collab::begun(event) {
            self.start(context, context.submission.unwrap_or_default(), item);
        } else if let Some(item) = collab::ended(event) {
            self.complete(context, context.submission, item);
        }
    }
}
