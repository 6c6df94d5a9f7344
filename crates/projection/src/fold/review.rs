//! Reviews: an item at the start, one at the end, and the items of the reviewer in between.
//!
//! The engine announces a review before its turn starts; the first item is added when the turn has started. Messages
//! of the reviewer are streamed without their text and are no items of the turn, since the result repeats them.

use codex_app_server_protocol::v2::ThreadItem;
use codex_core::{review_hint, review_text};
use codex_protocol::{ExitedReviewModeEvent, ItemEvent, ReviewRequest, TurnItem};

use super::consumer::{Consumer, ItemEnd};
use super::state::{EventContext, Fold};
use super::turn::{FoldedTurn, ReviewState};
use crate::turn_item;

/// A message of the reviewer, without its text.
pub(super) fn wire_message(event: &ItemEvent) -> Option<ThreadItem> {
    let mut item = turn_item::wire_item(&event.item)?;
    if let ThreadItem::AgentMessage { text, .. } = &mut item {
        *text = Default::default();
    }
    Some(item)
}

impl<C: Consumer> Fold<C> {
    pub(super) fn enter_review(&mut self, context: EventContext<'_>, request: &ReviewRequest) {
        let id = match context.submission {
            Some(id) => format!("{id}-entered"),
            None => {
                self.close_open_turn();
                self.leave_turn();
                self.consumer.review_announced();
                self.number()
            }
        };
        let review = review_hint(request);
        self.entered = Some(ThreadItem::EnteredReviewMode { id, review });
    }

    pub(super) fn exit_review(
        &mut self,
        context: EventContext<'_>,
        exited: &ExitedReviewModeEvent,
    ) {
        let review = review_text(exited.review_output.as_ref());
        let (turn_id, id) = match context.submission {
            Some(id) => (id.to_owned(), format!("{id}-exited")),
            None => (self.open_turn(context).id.clone(), self.number()),
        };
        if let Some(turn) = self.turn_mut(&turn_id) {
            turn.review = ReviewState::Over;
            let item = ThreadItem::ExitedReviewMode { id, review };
            self.add_at_once(context, &turn_id, item);
        }
    }

    /// Adds an item that starts and ends at once.
    pub(super) fn add_at_once(
        &mut self,
        context: EventContext<'_>,
        turn_id: &str,
        item: ThreadItem,
    ) {
        self.consumer.item_started(turn_id, &item, context.now);
        let ended = context.at_once(item);
        let end = ItemEnd::Usual;
        self.consumer
            .item_completed(turn_id, &ended, end, context.now);
        if let Some(turn) = self.turn_mut(turn_id) {
            turn.completed.push(ended);
        }
    }

    /// Whether an item is a message of a working reviewer.
    pub(super) fn is_of_reviewer(&self, item: &TurnItem) -> bool {
        let reviewing = |turn: &FoldedTurn| turn.is_open && turn.review == ReviewState::Runs;
        matches!(item, TurnItem::AgentMessage(_)) && self.turns.last().is_some_and(reviewing)
    }

    /// The turn with this id, otherwise the running review: other programs store its end with another id than its
    /// start.
    pub(super) fn position_of(&self, id: &str) -> Option<usize> {
        let own = self.turns.iter().rposition(|turn| turn.id == id);
        let review = |turn: &FoldedTurn| turn.is_open && turn.review == ReviewState::Over;
        own.or_else(|| self.turns.iter().rposition(review))
    }
}

#[cfg(test)]
mod tests {
    use codex_app_server_protocol::ServerNotification;
    use codex_app_server_protocol::v2::TimedItem;
    use codex_protocol::{
        AgentMessageItem, EventMsg, ReviewOutput, ReviewTarget, RolloutItem, ThreadId,
        TurnCompleteEvent, TurnStartedEvent,
    };

    use super::*;

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
                root_turn_id: None,
                started_at: None,
                model_context_window: None,
                collaboration_mode_kind: Default::default(),
            }),
            EventMsg::ItemStarted(message_event()),
            EventMsg::ItemCompleted(message_event()),
            EventMsg::ExitedReviewMode(ExitedReviewModeEvent {
                review_output: Some(output),
            }),
            EventMsg::TurnComplete(TurnCompleteEvent {
                turn_id,
                error: None,
                last_agent_message: None,
                response_id: None,
                completed_at: None,
                duration_ms: None,
                usage: None,
            }),
        ]
    }

    fn message_event() -> ItemEvent {
        let item = TurnItem::AgentMessage(AgentMessageItem {
            id: "said".to_owned(),
            content: Vec::new(),
            phase: None,
            memory_citation: None,
            is_cut: false,
        });
        ItemEvent {
            thread_id: ThreadId("thread".to_owned()),
            turn_id: "review".to_owned(),
            item,
        }
    }

    /// The items of a turn without their ids, which are not stored.
    fn reviews(items: &[TimedItem]) -> Vec<(&str, &str)> {
        let parts = items.iter().filter_map(|item| match &item.item {
            ThreadItem::EnteredReviewMode { review, .. } => Some(("entered", review.as_str())),
            ThreadItem::ExitedReviewMode { review, .. } => Some(("exited", review.as_str())),
            _ => None,
        });
        parts.collect()
    }

    #[test]
    fn review_is_one_complete_turn_live_and_stored() {
        let mut fold = Fold::live("thread".to_owned());
        let sent: Vec<ServerNotification> = events()
            .iter()
            .flat_map(|event| fold.apply("review", 0, event))
            .filter(|change| !change.moment.is_of_older_forms())
            .map(|change| change.notification)
            .collect();
        let names: Vec<&str> = sent.iter().map(ServerNotification::method).collect();
        let item = ["item/started", "item/completed"];
        assert_eq!(names[..1], ["turn/started"]);
        assert_eq!(names[1..3], item);
        assert_eq!(names[3..5], item);
        assert_eq!(names[5..7], item);
        assert_eq!(names[7..], ["turn/completed"]);
        let Some(ServerNotification::TurnCompleted(ended)) = sent.last() else {
            panic!("{sent:?}")
        };
        assert_eq!(ended.turn.id, "review");
        let expected = [("entered", "current changes"), ("exited", "Fine.")];
        assert_eq!(reviews(&ended.turn.items), expected);
        assert_eq!(ended.turn.items.len(), 2);

        let mut stored = Fold::new(());
        for event in events() {
            let line = RolloutItem::EventMsg(event);
            stored.apply_stored(Some(0), &line);
        }
        let turns = stored.into_turns("", &()).into_vec();
        assert_eq!(turns.len(), 1);
        assert_eq!(
            (&turns[0].id, turns[0].status),
            (&ended.turn.id, ended.turn.status)
        );
        assert_eq!(reviews(&turns[0].items), expected);
    }
}
