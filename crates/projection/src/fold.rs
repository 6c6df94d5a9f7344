//! The fold: a state machine that converts events to turns and items.
//!
//! Live and stored events go through the same code, although they differ: a live turn has item events, and older
//! events that repeat them; a stored turn has only the older events, so its messages are numbered. The fold
//! guarantees that every item and every turn that starts is completed once, at the latest when the turn ends.
//!
//! Changes go to a [`Consumer`]: [`Notifications`] for clients, [`PackTurns`] for readers of whole threads,
//! [`ByteRanges`] for paging, `()` if only the resulting turns are needed.

use codex_app_server_protocol::v2::{ThreadItem, ThreadRealtimeEntry, TimedItem, Turn, TurnStatus};
use codex_protocol::{
    AgentReasoningEvent, EventMsg, ExecCommandEndEvent, ItemEvent, ReasoningItemContent,
    ResponseItem, RolloutItem, ThreadRolledBackEvent, TokenUsageInfo, TurnStartedEvent,
};

use super::turn_error::turn_error;
use super::usage_limits::wire_exceeded;
use super::{item, turn_item};

mod byte_ranges;
mod change;
mod consumer;
mod event_notification;
mod items;
mod notifications;
mod review;
mod state;
#[cfg(test)]
mod tests;
mod turn;
mod turn_end;
mod turns;

pub use byte_ranges::{ByteRanges, FilePart, StoredRange, TurnRanges};
pub use change::{Change, Moment, RunningTurn};
pub use consumer::{Consumer, ItemEnd};
pub use notifications::{Notifications, usage as wire_usage};
use review::wire_message;
use state::{Counters, EventContext};
pub use state::{Fold, ItemIds};
use turn::{FoldedTurn, ReviewState};
use turn_end::TurnEnd;
pub use turns::{PackTurns, TurnForm, Turns};

impl Fold<Notifications> {
    /// The fold of a loaded thread. Turns are dropped when they have ended.
    pub fn live(thread: String) -> Self {
        Self::new(Notifications::new(thread))
    }

    /// What clients are to be told before this event is applied: what a response used, after its calls.
    pub fn tokens_before(&mut self, event: &EventMsg) -> Option<Change> {
        self.consumer.tokens_before(event)
    }

    /// Whether a turn or a realtime conversation has begun and not ended.
    pub fn is_in_turn_or_conversation(&self) -> bool {
        self.turns.iter().any(|turn| turn.is_open) || self.consumer.has_conversation()
    }

    /// The thread had used this much when it was loaded.
    pub fn count_from(&mut self, used: Option<&TokenUsageInfo>) {
        self.consumer.count_from(used);
    }

    /// A client has interrupted this turn.
    pub fn interrupted_by_client(&mut self, turn_id: &str) {
        if let Some(turn) = self.turn_mut(turn_id) {
            turn.interrupt();
        }
    }

    /// What was said in realtime conversations since the thread was loaded, oldest first.
    pub fn realtime_items(&self) -> Vec<ThreadRealtimeEntry> {
        self.consumer.realtime_items()
    }

    /// The running turn with its unfinished items; the others are stored already.
    pub fn running_turn(&self) -> Option<RunningTurn> {
        let open = self.turns.iter().rev().find(|turn| turn.is_open)?;
        Some(RunningTurn {
            turn: Turn {
                items: open.running.clone(),
                ..open.to_turn()
            },
            asked: self.consumer.asked(&open.id),
        })
    }

    /// The begins of items that run on after the end of their turn. Nothing that is stored has these items.
    pub fn outliving_items(&self) -> Vec<Change> {
        let ended = self.turns.iter().filter(|turn| !turn.is_open);
        let items = ended.flat_map(|turn| turn.running.iter().map(move |item| (&*turn.id, item)));
        items
            .map(|(turn, item)| self.consumer.begin_of(turn, item).into())
            .collect()
    }

    /// Applies a live event, and returns what clients are told.
    pub fn apply(&mut self, id: &str, now: i64, event: &EventMsg) -> Vec<Change> {
        let context = EventContext {
            submission: Some(id),
            now: Some(now),
            item_time: Some(now),
        };
        self.take(context, event);
        self.turns
            .retain(|turn| turn.is_open || !turn.running.is_empty());
        self.consumer.take()
    }
}

impl<C: Consumer> Fold<C> {
    /// Applies a line of a stored thread, written at `now`.
    pub fn apply_stored(&mut self, now: Option<i64>, line: &RolloutItem) {
        let context = EventContext {
            submission: None,
            now,
            item_time: now.filter(|_| self.ids != ItemIds::Untimed),
        };
        match line {
            RolloutItem::EventMsg(event) => self.take(context, event),
            RolloutItem::Compacted(_) => self.open_turn(context).has_compaction = true,
            RolloutItem::ResponseItem(ResponseItem::Reasoning { content, .. }) => {
                self.end_reasoning(context, content.as_deref().unwrap_or_default());
            }
            _ => {}
        }
    }

    /// Continues with another turn. `counters` are the counts at its start.
    pub fn go_to(&mut self, counters: Counters) {
        self.leave();
        self.counters = counters;
    }

    /// Continues outside of the turns that were read.
    pub fn leave(&mut self) {
        self.close_open_turn();
    }

    /// The turns of a stored thread in a form. An unfinished turn is still in progress.
    pub fn into_turns(mut self, thread: &str, form: &impl TurnForm) -> Turns {
        self.close_open_turn();
        Turns::new(self.turns, thread, form)
    }

    /// Whether an item with its own id may be skipped without an effect on other items of this turn: lines without a
    /// turn id belong to the turn, and there is no reasoning that the item would end.
    pub fn can_pass_over_item_of(&self, id: &str) -> bool {
        let last = self.turns.last();
        let is_here = last.is_some_and(|turn| turn.is_open && turn.is_explicit && turn.id == id);
        is_here && !self.counters.in_reasoning
    }

    fn take(&mut self, context: EventContext<'_>, event: &EventMsg) {
        let id = context.submission;
        match event {
            EventMsg::TurnStarted(started) => {
                self.start_turn(context, started);
            }
            EventMsg::TurnComplete(complete) => {
                if let Some(error) = &complete.error {
                    let id = Some(&*complete.turn_id).filter(|id| !id.is_empty());
                    self.fail(id, error);
                }
                if let Some(usage) = &complete.usage {
                    self.consumer.turn_usage(usage);
                }
                let end = TurnEnd::new(context.now, complete.completed_at, complete.duration_ms);
                self.end_turn(context, Some(&complete.turn_id), TurnStatus::Completed, end);
            }
            EventMsg::TurnAborted(aborted) => {
                if let Some(usage) = &aborted.usage {
                    self.consumer.turn_usage(usage);
                }
                let end = TurnEnd::new(context.now, aborted.completed_at, aborted.duration_ms);
                let status = TurnStatus::Interrupted;
                self.end_turn(context, aborted.turn_id.as_deref(), status, end);
            }
            EventMsg::CheckpointCreated(created) => {
                self.consumer
                    .checkpoint_created(&created.turn_id, &created.checkpoint_id);
            }
            EventMsg::Error(error) => self.fail(id, error),
            EventMsg::ThreadRolledBack(turns) => self.roll_back(context, turns),
            EventMsg::InheritedHistoryEnds => {
                let all = ThreadRolledBackEvent {
                    num_turns: u32::MAX,
                    first_turn_id: None,
                };
                self.roll_back(context, &all);
            }
            EventMsg::EnteredReviewMode(request) => self.enter_review(context, request),
            EventMsg::ExitedReviewMode(exited) => self.exit_review(context, exited),
            EventMsg::ItemStarted(started) if self.is_of_reviewer(&started.item) => {
                if let Some(item) = wire_message(started) {
                    self.consumer
                        .item_started(&started.turn_id, &item, context.now);
                }
            }
            EventMsg::ItemCompleted(completed) if self.is_of_reviewer(&completed.item) => {
                if let Some(item) = wire_message(completed) {
                    let ended = context.at_once(item);
                    let turn = &completed.turn_id;
                    self.consumer
                        .item_completed(turn, &ended, ItemEnd::Usual, context.now);
                }
            }
            EventMsg::ItemStarted(started) => self.start_item(context, started),
            EventMsg::ItemCompleted(completed) => self.complete_item(context, completed),
            EventMsg::ExecCommandBegin(begin) => {
                self.start(context, &begin.turn_id, item::command_begun(begin));
            }
            EventMsg::ExecApprovalRequest(request)
                // A question about a connection has an id of its own, and its command an item already.
                if request.approval_id.is_none() && request.network_approval_context.is_none() =>
            {
                if self.never_began(context, &request.turn_id, &request.call_id) {
                    let item = item::command_asked(request);
                    self.consumer
                        .command_asked(&request.turn_id, item, context.now);
                }
                self.asked_about(&request.turn_id, &request.call_id);
            }
            EventMsg::GuardianAssessment(review) => {
                if let Some(item) = item::command_reviewed(review)
                    && self.never_began(context, &review.turn_id, &review.id)
                {
                    self.consumer
                        .command_asked(&review.turn_id, item, context.now);
                }
                let turn = id.unwrap_or_default();
                self.consumer
                    .other_event(&self.turns, turn, event, context.now);
            }
            EventMsg::ExecCommandEnd(end) => self.end_command(context, end),
            EventMsg::ApplyPatchApprovalRequest(request) => {
                let status = codex_app_server_protocol::v2::PatchApplyStatus::InProgress;
                let item = item::patch(&request.call_id, &request.changes, status);
                self.start(context, &request.turn_id, item);
                self.asked_about(&request.turn_id, &request.call_id);
            }
            EventMsg::PatchApplyBegin(begin) => {
                let status = codex_app_server_protocol::v2::PatchApplyStatus::InProgress;
                let item = item::patch(&begin.call_id, &begin.changes, status);
                self.start(context, &begin.turn_id, item);
            }
            EventMsg::PatchApplyEnd(end) => self.end_patch(context, end),
            EventMsg::DynamicToolCallRequest(request) => {
                self.start(context, &request.turn_id, item::dynamic_call(request));
            }
            EventMsg::DynamicToolCallResponse(answer) => {
                self.complete(context, Some(&answer.turn_id), item::dynamic_answer(answer));
            }
            EventMsg::McpToolCallBegin(begin) => {
                self.start(context, id.unwrap_or_default(), item::mcp_call(begin));
            }
            EventMsg::McpToolCallEnd(end) => self.complete(context, id, item::mcp_ended(end)),
            EventMsg::ViewImageToolCall(view) => self.complete(
                context,
                id,
                ThreadItem::ImageView {
                    id: view.call_id.clone(),
                    path: view.path.clone(),
                },
            ),
            _ => {
                self.take_call_for_agents(context, event);
                self.take_older(context, event);
                let turn = id.unwrap_or_default();
                self.consumer
                    .other_event(&self.turns, turn, event, context.now);
            }
        }
    }

    fn start_item(&mut self, context: EventContext<'_>, started: &ItemEvent) {
        if let Some(turn) = self.turn_mut(&started.turn_id) {
            turn.has_item_events = true;
        }
        if let Some(item) = turn_item::wire_item(&started.item) {
            self.start(context, &started.turn_id, item);
        }
    }

    fn complete_item(&mut self, context: EventContext<'_>, completed: &ItemEvent) {
        if let Some(item) = turn_item::wire_item(&completed.item) {
            self.complete(context, Some(&completed.turn_id), item);
        }
    }

    fn end_command(&mut self, context: EventContext<'_>, end: &ExecCommandEndEvent) {
        self.complete(context, Some(&end.turn_id), item::command_ended(end));
    }

    /// The older events, the only form in which messages are stored.
    fn take_older(&mut self, context: EventContext<'_>, event: &EventMsg) {
        // Stored turns have no item events, and there may be many turns.
        if context.is_live() && self.has_item_events() {
            return;
        }
        match event {
            EventMsg::UserMessage(message) => {
                let needs_turn =
                    |turn: &FoldedTurn| !turn.is_explicit && !turn.completed.is_empty();
                if self
                    .turns
                    .last()
                    .is_some_and(|turn| turn.is_open && needs_turn(turn))
                {
                    self.close_open_turn();
                }
                let said = ThreadItem::UserMessage {
                    id: self.id_of_message(message.item_id.as_ref()),
                    client_id: message.client_id.clone(),
                    content: match self.ids {
                        ItemIds::Streamed => item::message_input(message),
                        ItemIds::Numbered | ItemIds::Untimed => item::message_parts(message),
                    },
                };
                self.complete(context, None, said);
            }
            EventMsg::AgentMessage(message) => {
                let id = self.id_of_message(message.item_id.as_ref());
                if message.is_cut && self.ids == ItemIds::Streamed {
                    // With the ids of the stream, a message that was cut is left out.
                    return;
                }
                self.complete(
                    context,
                    None,
                    ThreadItem::AgentMessage {
                        id,
                        text: message.message.clone(),
                        phase: message.phase,
                        memory_citation: message.memory_citation.as_ref().map(item::citation),
                    },
                );
            }
            EventMsg::AgentReasoning(reasoning) => {
                self.reason(context, reasoning, ReasoningPart::Summary)
            }
            EventMsg::AgentReasoningRawContent(raw) => {
                self.reason(context, raw, ReasoningPart::Raw)
            }
            EventMsg::ContextCompacted => {
                let id = self.number();
                if self.is_compaction_stored(&id) {
                    return;
                }
                self.complete(
                    context,
                    None,
                    ThreadItem::ContextCompaction { id, status: None },
                );
            }
            EventMsg::WebSearchEnd(end) => {
                self.complete(
                    context,
                    None,
                    item::web_search(&end.call_id, &end.query, &end.action),
                );
            }
            EventMsg::ImageGenerationEnd(end) => self.complete(
                context,
                None,
                ThreadItem::ImageGeneration {
                    id: end.call_id.clone(),
                    status: end.status.clone(),
                    revised_prompt: end.revised_prompt.clone(),
                    result: end.result.clone(),
                    saved_path: end.saved_path.clone(),
                },
            ),
            _ => {}
        }
    }

    fn has_item_events(&self) -> bool {
        let mut open = self.turns.iter().filter(|turn| turn.is_open);
        open.any(|turn| turn.has_item_events)
    }

    /// Ends reasoning that was streamed in pieces. `content` is what the pieces may lack.
    fn end_reasoning(&mut self, context: EventContext<'_>, content: &[ReasoningItemContent]) {
        if !std::mem::take(&mut self.counters.in_reasoning) {
            return;
        }
        let last = self.open_turn(context).completed.last_mut();
        if let Some(ThreadItem::Reasoning { content: shown, .. }) = last.map(|last| &mut last.item)
            && shown.is_empty()
        {
            shown.extend(content.iter().map(item::reasoning_text));
        }
    }

    fn reason(
        &mut self,
        context: EventContext<'_>,
        event: &AgentReasoningEvent,
        part: ReasoningPart,
    ) {
        let text = event.text.as_str();
        let goes_on = std::mem::replace(&mut self.counters.in_reasoning, true);
        let last = self.open_turn(context).completed.last_mut();
        if let Some(ThreadItem::Reasoning {
            summary, content, ..
        }) = last.filter(|_| goes_on).map(|last| &mut last.item)
        {
            match part {
                ReasoningPart::Summary => summary.push(text.to_owned()),
                ReasoningPart::Raw => content.push(text.to_owned()),
            }
            return;
        }
        let id = self.id_of_message(event.item_id.as_ref());
        let (mut summary, mut content) = (Vec::new(), Vec::new());
        match part {
            ReasoningPart::Summary => summary.push(text.to_owned()),
            ReasoningPart::Raw => content.push(text.to_owned()),
        }
        self.complete(
            context,
            None,
            ThreadItem::Reasoning {
                id,
                summary,
                content,
            },
        );
    }

    /// The id of a message or reasoning item. Its number is counted in any case.
    fn id_of_message(&mut self, streamed: Option<&String>) -> String {
        let number = self.number();
        match (self.ids, streamed) {
            (ItemIds::Streamed, Some(id)) => id.clone(),
            _ => number,
        }
    }

    /// Whether the item of the compaction precedes this event, which repeats it. It gets the number, if items are
    /// numbered.
    fn is_compaction_stored(&mut self, number: &str) -> bool {
        let ids = self.ids;
        let Some(turn) = self.turns.last_mut() else {
            return false;
        };
        let last = turn.completed.last_mut().map(|last| &mut last.item);
        let Some(ThreadItem::ContextCompaction { id, .. }) = last else {
            return false;
        };
        if id.starts_with("item-") {
            return false;
        }
        if ids != ItemIds::Streamed {
            number.clone_into(id);
        }
        true
    }

    fn start_turn(&mut self, context: EventContext<'_>, started: &TurnStartedEvent) {
        if !context.is_live() {
            self.close_open_turn();
        }
        let mut turn = FoldedTurn::new(started.turn_id.clone(), true);
        let entered = self.entered.take();
        if entered.is_some() {
            turn.review = ReviewState::Runs;
        }
        turn.root.clone_from(&started.root_turn_id);
        turn.begun = context.now;
        turn.started_at = started.started_at.or(turn.begun.map(|begun| begun / 1000));
        self.consumer.turn_started(&turn);
        self.add_turn(turn);
        if let Some(entered) = entered {
            self.add_at_once(context, &started.turn_id, entered);
        }
    }

    fn end_turn(
        &mut self,
        context: EventContext<'_>,
        id: Option<&str>,
        status: TurnStatus,
        end: TurnEnd,
    ) {
        let position = match id.filter(|id| !id.is_empty()) {
            Some(id) => {
                let is_here = self.turns.iter().rev().any(|turn| turn.id == id);
                if !is_here && self.consumer.turn_missing(id) {
                    return;
                }
                self.position_of(id)
            }
            None => self.turns.iter().rposition(|turn| turn.is_open),
        };
        let Some(position) = position else {
            return;
        };
        self.consumer.turn_changed(self.earlier.count + position);
        if self.turns[position].status == TurnStatus::Interrupted {
            return;
        }
        self.break_off_items(context, position, status);
        let turn = &mut self.turns[position];
        turn.is_open = false;
        turn.completed_at = end.completed_at;
        turn.duration_ms = end.duration_since(turn.begun);
        turn.status = match (status, &turn.error) {
            (TurnStatus::Completed, Some(_)) => TurnStatus::Failed,
            (TurnStatus::Interrupted, _) => {
                turn.error = None;
                status
            }
            _ => status,
        };
        self.consumer.turn_completed(&self.turns[position]);
    }

    /// Ends the unfinished items of a turn that ends, except terminals in the background.
    fn break_off_items(&mut self, context: EventContext<'_>, position: usize, status: TurnStatus) {
        let is_interrupted = status == TurnStatus::Interrupted;
        let turn = &mut self.turns[position];
        let (outliving, left): (Vec<_>, Vec<_>) = std::mem::take(&mut turn.running)
            .into_iter()
            .partition(|item| item::outlives_turn(item));
        turn.running = outliving;
        for left in left {
            let turn = &mut self.turns[position];
            let is_asked_about = turn.asked.contains(item::id_of(&left));
            let ended = TimedItem {
                item: if is_asked_about {
                    item::declined(left.item)
                } else {
                    item::broken_off(left.item)
                },
                completed_at_ms: context.item_time,
                ..left
            };
            let end = if is_interrupted && item::takes_time(&ended) {
                ItemEnd::ByInterrupt
            } else {
                ItemEnd::Usual
            };
            self.consumer
                .item_completed(&turn.id, &ended, end, context.now);
            // A compaction that fails has changed nothing, so it is no item of the turn.
            if !matches!(ended.item, ThreadItem::ContextCompaction { .. }) {
                turn.completed.push(ended);
            }
        }
        let turn = &mut self.turns[position];
        for ended in turn.take_interrupted() {
            if !is_interrupted {
                let end = ItemEnd::BeforeInterrupt;
                self.consumer
                    .item_completed(&turn.id, &ended, end, context.now);
            }
        }
    }

    /// Whether the item has no `item/started`.
    fn never_began(&mut self, context: EventContext<'_>, turn_id: &str, item_id: &str) -> bool {
        let turn = self.turn_mut(turn_id);
        context.is_live() && turn.is_some_and(|turn| !turn.ids.contains(item_id))
    }

    /// Clients are asked about the item.
    fn asked_about(&mut self, turn_id: &str, item_id: &str) {
        if let Some(turn) = self.turn_mut(turn_id) {
            turn.asked.insert(item_id.to_owned());
        }
    }

    fn fail(&mut self, id: Option<&str>, event: &codex_protocol::ErrorEvent) {
        let info = event.codex_error_info.as_ref();
        if info.is_some_and(|info| !info.fails_turn()) {
            return;
        }
        let mut error = turn_error(&event.message, info, None);
        error.exceeded_limit = event.exceeded_limit.map(wire_exceeded);
        let failed = self
            .turns
            .iter_mut()
            .rev()
            .find(|turn| turn.is_open && id.is_none_or(|id| turn.id == id));
        if let Some(turn) = failed {
            turn.error = Some(error.clone());
        }
        self.consumer.error(id.unwrap_or_default(), &error);
    }

    fn roll_back(&mut self, context: EventContext<'_>, turns: &ThreadRolledBackEvent) {
        self.close_open_turn();
        self.leave_turn();
        self.entered = None;
        let named = turns.first_turn_id.as_deref();
        let first = named.and_then(|id| self.turns.iter().position(|turn| turn.id == id));
        if context.is_live() && named.is_some() && first.is_none() {
            // The turns that are left have running commands from before.
            return;
        }
        let counted = usize::try_from(turns.num_turns).unwrap_or(usize::MAX);
        let dropped = first.map_or(counted, |first| self.turns.len() - first);
        let is_among = dropped <= self.turns.len() && named.is_some() == first.is_some();
        let is_known = is_among || self.earlier.count == 0;
        let Some(numbered) = self.earlier.numbered.filter(|_| is_known) else {
            return self.consumer.earlier_turns_cut();
        };
        let left = self.turns.len().saturating_sub(dropped);
        self.turns.truncate(left);
        self.consumer.turns_cut(self.earlier.count + left);
        let own: usize = self.turns.iter().map(FoldedTurn::numbered).sum();
        self.counters.items = numbered + own;
    }
}

#[derive(Clone, Copy, Debug)]
enum ReasoningPart {
    Summary,
    Raw,
}
