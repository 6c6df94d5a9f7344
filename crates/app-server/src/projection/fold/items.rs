//! Items of the turns in the making: where each begins and ends, and when.

use codex_app_server_protocol::v2::{ThreadItem, TimedItem};
use codex_protocol::EventMsg;

use super::{Fold, Listener};
use crate::projection::{collab, item};

impl Fold {
    /// An item begins. Told once, whichever event says it first.
    pub(super) fn start(&mut self, turn_id: &str, item: ThreadItem) {
        if self.listener == Listener::Nobody {
            // What a stored turn did not finish is not known well enough to be shown.
            return;
        }
        let begun = self.begun(item);
        let Some(turn) = self.turn_mut(turn_id) else {
            return;
        };
        if turn.ids.insert(item::id_of(&begun).to_owned()) {
            turn.running.push(begun.clone());
            self.tell_item_started(turn_id, begun);
        }
    }

    /// An item that begins now.
    pub(super) fn begun(&self, item: ThreadItem) -> TimedItem {
        TimedItem {
            item,
            started_at_ms: self.now,
            completed_at_ms: None,
        }
    }

    /// An item that begins and ends now.
    pub(super) fn at_once(&self, item: ThreadItem) -> TimedItem {
        TimedItem {
            completed_at_ms: self.now,
            ..self.begun(item)
        }
    }

    /// An item of a stored turn, of which only its end is stored.
    fn ended(&self, item: ThreadItem) -> TimedItem {
        let began = |end: i64| Some(end.saturating_sub(item::duration_of(&item)?));
        TimedItem {
            started_at_ms: self.now.and_then(began),
            completed_at_ms: self.now,
            item,
        }
    }

    /// An item ends; one that was never begun begins now.
    pub(super) fn complete(&mut self, turn_id: Option<&str>, item: ThreadItem) {
        let position = match turn_id.filter(|id| !id.is_empty()) {
            Some(id) => self.turns.iter().rposition(|turn| turn.id == id),
            None => Some(self.open_position()),
        };
        let Some(position) = position else {
            return;
        };
        self.said_of(position);
        let turn = &mut self.turns[position];
        turn.unpack();
        let is_it = |other: &TimedItem| item::id_of(other) == item::id_of(&item);
        let ended = if let Some(running) = turn.running.iter().position(is_it) {
            let begun = turn.running.remove(running);
            TimedItem {
                item,
                completed_at_ms: self.now,
                ..begun
            }
        } else if turn.ids.insert(item::id_of(&item).to_owned()) {
            self.tell_begun_in(position, &item);
            match self.listener {
                Listener::Clients => self.at_once(item),
                Listener::Nobody => self.ended(item),
            }
        } else {
            let earlier = turn.completed.iter().position(is_it);
            if let (Listener::Nobody, Some(earlier)) = (self.listener, earlier) {
                // The last end of an item is the one that counts.
                let ended = self.ended(item);
                self.turns[position].completed[earlier] = ended;
            }
            return;
        };
        let turn = &mut self.turns[position];
        let is_held = turn.concessions.hold(&ended);
        turn.completed.push(ended);
        if !is_held {
            self.tell_last_completed(position);
        }
    }

    pub(super) fn end_patch(&mut self, end: &codex_protocol::PatchApplyEndEvent) {
        if !end.stdout.is_empty() {
            self.tell_patch_output(&end.turn_id, &end.call_id, &end.stdout);
        }
        let item = item::patch_ended(end);
        match end.status {
            codex_protocol::PatchApplyStatus::Declined if !end.stderr.is_empty() => {
                self.complete_declined(&end.turn_id, item);
            }
            _ => self.complete(Some(&end.turn_id), item),
        }
    }

    /// A call by which an agent directs others begins or ends, if that is what the event says.
    pub(super) fn take_call_for_agents(&mut self, id: Option<&str>, event: &EventMsg) {
        if let Some(item) = collab::begun(event) {
            self.start(id.unwrap_or_default(), item);
        } else if let Some(item) = collab::ended(event) {
            self.complete(id, item);
        }
    }
}
