//! Reviews: an item where one begins, one where it ends, and a reviewer in between.
//!
//! A review says that it begins before its turn does, and clients are used to two more things: the
//! beginning of its turn is told under an id of the reviewer's own, all else under that of the review;
//! and of what the reviewer itself says only that it speaks, since the result tells the rest.

use codex_app_server_protocol::v2::ThreadItem;
use codex_core::{review_hint, review_text};
use codex_protocol::{ExitedReviewModeEvent, ItemEvent, ReviewRequest, TurnItem};

use super::{Fold, FoldedTurn, Listener};
use crate::projection::item;

/// What a turn has to do with reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Review {
    /// Nothing.
    None,
    /// It is one, and the reviewer is at work.
    Runs,
    /// It is one, and the result is there.
    Over,
}

impl Fold {
    pub(super) fn enter_review(&mut self, id: Option<&str>, request: &ReviewRequest) {
        let review = review_hint(request);
        let Some(id) = id.filter(|_| self.listener == Listener::Clients) else {
            self.close_open_turn();
            self.end_stretch();
            let id = self.number();
            let item = ThreadItem::EnteredReviewMode { id, review };
            self.entered = Some((item, self.origin_here()));
            return;
        };
        let mut turn = FoldedTurn::new(id.to_owned(), true, self.origin_here());
        turn.review = Review::Runs;
        self.turns.push(turn);
        let item_id = id.to_owned();
        self.tell_at_once(
            id,
            ThreadItem::EnteredReviewMode {
                id: item_id,
                review,
            },
        );
    }

    /// The turn of that id, which begins now: that of the review that was entered, or a new one.
    pub(super) fn review_of(&mut self, id: &str) -> FoldedTurn {
        if let Some((entered, origin)) = self.entered.take() {
            let mut turn = FoldedTurn::new(id.to_owned(), true, origin);
            turn.review = Review::Runs;
            turn.completed.push(self.at_once(entered));
            return turn;
        }
        let is_it = |turn: &FoldedTurn| turn.review == Review::Runs && turn.id == id;
        // Among the turns of a stored thread, which may be very many, none waits for its beginning.
        let entered = match self.listener {
            Listener::Clients => self.turns.iter().position(is_it),
            Listener::Nobody => None,
        };
        match entered {
            Some(position) => self.turns.remove(position),
            None => FoldedTurn::new(id.to_owned(), true, self.origin_here()),
        }
    }

    pub(super) fn exit_review(&mut self, id: Option<&str>, exited: &ExitedReviewModeEvent) {
        let review = review_text(exited.review_output.as_ref());
        let stored = self.listener == Listener::Nobody;
        let turn_id = match id {
            Some(id) if !stored => id.to_owned(),
            _ => self.open_turn().id.clone(),
        };
        let id = match stored {
            true => self.number(),
            false => turn_id.clone(),
        };
        if let Some(turn) = self.turn_mut(&turn_id) {
            turn.review = Review::Over;
            self.tell_at_once(&turn_id, ThreadItem::ExitedReviewMode { id, review });
        }
    }

    /// An item that begins and ends in one moment, and that shares its id with another.
    fn tell_at_once(&mut self, turn_id: &str, item: ThreadItem) {
        let (begun, ended) = (self.begun(item.clone()), self.at_once(item));
        self.tell_item_started(turn_id, begun);
        if let Some(turn) = self.turn_mut(turn_id) {
            turn.completed.push(ended.clone());
        }
        self.tell_item_completed(turn_id, ended);
    }

    /// Whether an item is something that a reviewer says while it works.
    pub(super) fn is_of_reviewer(&self, item: &TurnItem) -> bool {
        let reviewing = |turn: &FoldedTurn| turn.is_open && turn.review == Review::Runs;
        matches!(item, TurnItem::AgentMessage(_)) && self.turns.last().is_some_and(reviewing)
    }

    pub(super) fn tell_reviewer_speaks(&mut self, started: &ItemEvent) {
        if let Some(item) = item::core_item(&started.item) {
            let begun = self.begun(item);
            self.tell_item_started(&started.turn_id, begun);
        }
    }

    /// The turn of that id; or the review that runs, whose end other programs store under another
    /// id than its beginning.
    pub(super) fn position_of(&self, id: &str) -> Option<usize> {
        let own = self.turns.iter().rposition(|turn| turn.id == id);
        let review = |turn: &FoldedTurn| turn.is_open && turn.review == Review::Over;
        own.or_else(|| self.turns.iter().rposition(review))
    }
}

#[cfg(test)]
mod tests {
    use codex_app_server_protocol::ServerNotification as Told;
    use codex_app_server_protocol::v2::TimedItem;
    use codex_protocol::{
        AgentMessageItem, EventMsg, ReviewOutput, ReviewTarget, RolloutItem, ThreadId,
        TurnCompleteEvent, TurnStartedEvent,
    };

    use super::*;
    use crate::projection::Moment;

    fn events() -> Vec<EventMsg> {
        let turn_id = "review".to_owned();
        let output = ReviewOutput {
            overall_explanation: "Fine.".to_owned(),
            ..ReviewOutput::default()
        };
        vec![
            EventMsg::EnteredReviewMode(ReviewRequest {
                target: ReviewTarget::UncommittedChanges,
                user_facing_hint: None,
            }),
            EventMsg::TurnStarted(TurnStartedEvent {
                turn_id: turn_id.clone(),
                started_at: None,
                model_context_window: None,
                collaboration_mode_kind: Default::default(),
            }),
            EventMsg::ItemStarted(speaks()),
            EventMsg::ItemCompleted(speaks()),
            EventMsg::ExitedReviewMode(ExitedReviewModeEvent {
                review_output: Some(output),
            }),
            EventMsg::TurnComplete(TurnCompleteEvent {
                turn_id,
                last_agent_message: None,
                response_id: None,
                completed_at: None,
                duration_ms: None,
            }),
        ]
    }

    fn speaks() -> ItemEvent {
        let item = TurnItem::AgentMessage(AgentMessageItem {
            id: "said".to_owned(),
            content: Vec::new(),
            phase: None,
            memory_citation: None,
        });
        ItemEvent {
            thread_id: ThreadId("thread".to_owned()),
            turn_id: "review".to_owned(),
            item,
        }
    }

    /// The items of a turn without their ids, which storing does not keep.
    fn reviews(items: &[TimedItem]) -> Vec<(&str, &str)> {
        let parts = items.iter().filter_map(|item| match &item.item {
            ThreadItem::EnteredReviewMode { review, .. } => Some(("entered", review.as_str())),
            ThreadItem::ExitedReviewMode { review, .. } => Some(("exited", review.as_str())),
            _ => None,
        });
        parts.collect()
    }

    #[test]
    fn a_review_is_told_as_clients_know_it_and_reads_back_so() {
        let mut fold = Fold::new("thread".to_owned(), Listener::Clients);
        let told: Vec<Told> = events()
            .iter()
            .flat_map(|event| fold.apply("review", 0, event))
            .collect();
        let names: Vec<&str> = told.iter().map(Told::method).collect();
        let item = ["item/started", "item/completed"];
        assert_eq!(names[..2], item);
        assert_eq!(names[2..4], ["turn/started", "item/started"]);
        assert_eq!(names[4..6], item);
        assert_eq!(names[6..], ["turn/completed"]);
        let Some(Told::TurnCompleted(ended)) = told.last() else {
            panic!("{told:?}")
        };
        assert_eq!(ended.turn.id, "review");
        let expected = [("entered", "current changes"), ("exited", "Fine.")];
        assert_eq!(reviews(&ended.turn.items), expected);
        assert_eq!(ended.turn.items.len(), 2);

        let mut stored = Fold::new("thread".to_owned(), Listener::Nobody);
        for event in events() {
            let line = RolloutItem::EventMsg(event);
            stored.apply_stored(Moment::Milliseconds(0), &line);
        }
        let turns = stored.into_turns().into_vec();
        assert_eq!(turns.len(), 1);
        assert_eq!(
            (&turns[0].id, turns[0].status),
            (&ended.turn.id, ended.turn.status)
        );
        assert_eq!(reviews(&turns[0].items), expected);
    }
}
