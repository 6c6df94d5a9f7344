//! The fold: events in, turns and items out, and on the way the notifications that tell of them.
//!
//! Live and stored events go through the same code. What differs is what they hold: a live turn says
//! its items itself and repeats them in the older events, a stored one has only those, so that its
//! messages get numbers for ids. The fold promises that every item and every turn that it says has
//! begun is said to have ended, once; at the latest when the turn ends.

use codex_app_server_protocol::ServerNotification as Told;
use codex_app_server_protocol::v2::{ThreadItem, TimedItem, Turn, TurnStatus};
use codex_protocol::{EventMsg, ReasoningItemContent, ResponseItem, RolloutItem, TurnItem};

use super::item;
use super::turn_error::turn_error;

mod concessions;
mod items;
mod live;
mod moment;
mod review;
mod stretch;
#[cfg(test)]
mod tests;
mod told;
mod turns;

pub(crate) use moment::Moment;
use stretch::{Mark, Origin};
pub(crate) use stretch::{Part, Stretch, lines_of_others, parts};
use turns::FoldedTurn;
pub(crate) use turns::Turns;

/// Who hears the fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    /// Clients: notifications are made, and turns are forgotten when they have ended.
    Clients,
    /// Nobody: only the turns count, and all of them are kept.
    Nobody,
}

/// Turns in the making.
#[derive(Debug)]
pub(crate) struct Fold {
    thread: String,
    listener: Listener,
    turns: Vec<FoldedTurn>,
    numbered: usize,
    /// Reasoning is being told, piece by piece, by older events.
    is_thinking: bool,
    /// When what is taken now happened, in milliseconds.
    now: Option<i64>,
    told: Vec<Told>,
    /// The beginning of a review whose turn has not begun yet, and where it was told.
    entered: Option<(ThreadItem, Origin)>,
    /// Where the line begins that is taken now.
    mark: Mark,
    /// How many turns of a stored thread had no beginning that names them.
    unnamed: u64,
    /// Turns are wanted as JSON, of which they take less room.
    packs: bool,
}

impl Fold {
    pub(crate) fn new(thread: String, listener: Listener) -> Self {
        Self {
            thread,
            listener,
            turns: Vec::new(),
            numbered: 0,
            is_thinking: false,
            now: None,
            told: Vec::new(),
            entered: None,
            mark: Mark::default(),
            unnamed: 0,
            packs: false,
        }
    }

    /// The turns of a thread that is shown as a whole: they wait as JSON until it is.
    pub(crate) fn of_whole_thread() -> Self {
        Self {
            packs: true,
            ..Self::new(String::new(), Listener::Nobody)
        }
    }

    /// Takes a line of a stored thread that was written at `moment`.
    pub(crate) fn apply_stored(&mut self, moment: Moment<'_>, line: &RolloutItem) {
        self.now = moment.milliseconds();
        match line {
            RolloutItem::EventMsg(event) => self.take(None, moment, event),
            RolloutItem::Compacted(_) => self.open_turn().has_compaction = true,
            RolloutItem::ResponseItem(ResponseItem::Reasoning { content, .. }) => {
                self.end_thought(content.as_deref().unwrap_or_default());
            }
            _ => {}
        }
    }

    /// The turns of a stored thread, all of it taken. One that was cut off is still in progress.
    pub(crate) fn into_turns(mut self) -> Turns {
        self.close_open_turn();
        Turns::new(self.turns)
    }

    /// Takes a live event; answers what clients are told of it.
    pub(crate) fn apply(&mut self, id: &str, now: i64, event: &EventMsg) -> Vec<Told> {
        self.now = Some(now);
        self.take(Some(id), Moment::Milliseconds(now), event);
        self.turns
            .retain(|turn| turn.is_open || !turn.running.is_empty());
        std::mem::take(&mut self.told)
    }

    /// The turn that runs, with only those of its items that have not ended: the others are stored.
    pub(crate) fn running_turn(&self) -> Option<Turn> {
        let open = self.turns.iter().rev().find(|turn| turn.is_open)?;
        Some(Turn {
            items: open.running.clone(),
            ..open.to_turn()
        })
    }

    fn take(&mut self, id: Option<&str>, moment: Moment<'_>, event: &EventMsg) {
        match event {
            EventMsg::TurnStarted(started) => {
                self.start_turn(&started.turn_id, moment, started.started_at);
            }
            EventMsg::TurnComplete(complete) => {
                let end = moment.end(complete.completed_at, complete.duration_ms);
                self.end_turn(Some(&complete.turn_id), TurnStatus::Completed, end);
            }
            EventMsg::TurnAborted(aborted) => {
                let end = moment.end(aborted.completed_at, aborted.duration_ms);
                let status = TurnStatus::Interrupted;
                self.end_turn(aborted.turn_id.as_deref(), status, end);
            }
            EventMsg::Error(error) => self.fail(id, error),
            EventMsg::ThreadRolledBack(back) => self.roll_back(back.num_turns),
            EventMsg::EnteredReviewMode(request) => self.enter_review(id, request),
            EventMsg::ExitedReviewMode(exited) => self.exit_review(id, exited),
            EventMsg::ItemStarted(started) if self.is_of_reviewer(&started.item) => {
                self.tell_reviewer_speaks(started);
            }
            EventMsg::ItemCompleted(completed) if self.is_of_reviewer(&completed.item) => {}
            EventMsg::ItemStarted(started) => {
                if let Some(turn) = self.turn_mut(&started.turn_id) {
                    turn.says_items = true;
                }
                if let Some(item) = item::core_item(&started.item) {
                    self.start(&started.turn_id, item);
                }
            }
            EventMsg::ItemCompleted(completed) => {
                if let Some(item) = item::core_item(&completed.item) {
                    let hidden = matches!(completed.item, TurnItem::HookPrompt(_));
                    if !hidden {
                        self.complete(Some(&completed.turn_id), item);
                    }
                }
            }
            EventMsg::ExecCommandBegin(begin) => {
                self.start(&begin.turn_id, item::command_begun(begin));
            }
            EventMsg::ExecApprovalRequest(request) if request.approval_id.is_none() => {
                self.asked_about(&request.turn_id, &request.call_id);
            }
            EventMsg::ExecCommandEnd(end) => {
                let item = item::command_ended(end);
                match end.status {
                    codex_protocol::ExecCommandStatus::Declined
                        if self.never_began(&end.turn_id, &end.call_id) =>
                    {
                        self.complete_unbegun(&end.turn_id, item);
                    }
                    codex_protocol::ExecCommandStatus::Declined
                        if !end.aggregated_output.is_empty() =>
                    {
                        self.complete_declined(&end.turn_id, item);
                    }
                    _ => self.complete(Some(&end.turn_id), item),
                }
            }
            EventMsg::ApplyPatchApprovalRequest(request) => {
                let status = codex_app_server_protocol::v2::PatchApplyStatus::InProgress;
                let item = item::patch(&request.call_id, &request.changes, status);
                self.start(&request.turn_id, item);
                self.asked_about(&request.turn_id, &request.call_id);
            }
            EventMsg::PatchApplyBegin(begin) => {
                let status = codex_app_server_protocol::v2::PatchApplyStatus::InProgress;
                let item = item::patch(&begin.call_id, &begin.changes, status);
                self.start(&begin.turn_id, item);
            }
            EventMsg::PatchApplyEnd(end) => self.end_patch(end),
            EventMsg::DynamicToolCallRequest(request) => {
                self.start(&request.turn_id, item::dynamic_call(request));
            }
            EventMsg::DynamicToolCallResponse(answer) => {
                self.complete(Some(&answer.turn_id), item::dynamic_answer(answer));
            }
            EventMsg::McpToolCallBegin(begin) => {
                self.start(id.unwrap_or_default(), item::mcp_call(begin));
            }
            EventMsg::McpToolCallEnd(end) => self.complete(id, item::mcp_ended(end)),
            EventMsg::ViewImageToolCall(view) => self.complete(
                id,
                ThreadItem::ImageView {
                    id: view.call_id.clone(),
                    path: view.path.clone(),
                },
            ),
            _ => {
                self.take_call_for_agents(id, event);
                self.take_older(event);
                if self.listener == Listener::Clients {
                    self.tell_of(id.unwrap_or_default(), event);
                }
            }
        }
    }

    /// The older events: all that is stored of messages.
    fn take_older(&mut self, event: &EventMsg) {
        // A stored turn never says its items itself, and there may be very many.
        if self.listener == Listener::Clients && self.says_items() {
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
                    id: self.number(),
                    client_id: message.client_id.clone(),
                    content: item::told_input(message),
                };
                self.complete(None, said);
            }
            EventMsg::AgentMessage(message) if !message.message.is_empty() => {
                let id = self.number();
                self.complete(
                    None,
                    ThreadItem::AgentMessage {
                        id,
                        text: message.message.clone(),
                        phase: message.phase,
                        memory_citation: message.memory_citation.as_ref().map(item::citation),
                    },
                );
            }
            EventMsg::AgentReasoning(reasoning) => self.think(&reasoning.text, Thought::Summary),
            EventMsg::AgentReasoningRawContent(raw) => self.think(&raw.text, Thought::Raw),
            EventMsg::ContextCompacted => {
                let id = self.number();
                self.complete(None, ThreadItem::ContextCompaction { id });
            }
            EventMsg::WebSearchEnd(end) => {
                self.complete(
                    None,
                    item::web_search(&end.call_id, &end.query, &end.action),
                );
            }
            EventMsg::ImageGenerationEnd(end) => self.complete(
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

    fn says_items(&self) -> bool {
        let mut open = self.turns.iter().filter(|turn| turn.is_open);
        open.any(|turn| turn.says_items)
    }

    /// The item that events told piece by piece is whole. `content` is what they may have left out.
    fn end_thought(&mut self, content: &[ReasoningItemContent]) {
        if !std::mem::take(&mut self.is_thinking) {
            return;
        }
        let last = self.open_turn().completed.last_mut();
        if let Some(ThreadItem::Reasoning { content: told, .. }) = last.map(|last| &mut last.item)
            && told.is_empty()
        {
            told.extend(content.iter().map(item::reasoning_text));
        }
    }

    fn think(&mut self, text: &str, thought: Thought) {
        let goes_on = std::mem::replace(&mut self.is_thinking, true);
        let last = self.open_turn().completed.last_mut();
        if let Some(ThreadItem::Reasoning {
            summary, content, ..
        }) = last.filter(|_| goes_on).map(|last| &mut last.item)
        {
            match thought {
                Thought::Summary => summary.push(text.to_owned()),
                Thought::Raw => content.push(text.to_owned()),
            }
            return;
        }
        let id = self.number();
        let (mut summary, mut content) = (Vec::new(), Vec::new());
        match thought {
            Thought::Summary => summary.push(text.to_owned()),
            Thought::Raw => content.push(text.to_owned()),
        }
        self.complete(
            None,
            ThreadItem::Reasoning {
                id,
                summary,
                content,
            },
        );
    }

    fn number(&mut self) -> String {
        self.numbered += 1;
        format!("item-{}", self.numbered)
    }

    fn turn_mut(&mut self, id: &str) -> Option<&mut FoldedTurn> {
        self.turns.iter_mut().rev().find(|turn| turn.id == id)
    }

    /// The open turn; one without a beginning is opened if there is none.
    fn open_turn(&mut self) -> &mut FoldedTurn {
        let position = self.open_position();
        &mut self.turns[position]
    }

    fn open_position(&mut self) -> usize {
        if !self.turns.last().is_some_and(|turn| turn.is_open) {
            self.end_stretch();
            let id = self.id_of_unnamed();
            let (entered, origin) = match self.entered.take() {
                Some((item, origin)) => (Some(item), origin),
                None => (None, self.origin_here()),
            };
            let mut turn = FoldedTurn::new(id, false, origin);
            turn.completed
                .extend(entered.map(|item| self.at_once(item)));
            self.turns.push(turn);
        }
        self.turns.len() - 1
    }

    /// An id for a turn that nobody gave one. That of a stored turn is the same each time it is read.
    fn id_of_unnamed(&mut self) -> String {
        if self.has_listener() {
            return uuid::Uuid::now_v7().to_string();
        }
        let now = self.now.unwrap_or_default();
        self.unnamed += 1;
        let mut counted = [0; 10];
        counted[2..].copy_from_slice(&self.unnamed.to_be_bytes());
        let id = uuid::Builder::from_unix_timestamp_millis(now.unsigned_abs(), &counted);
        id.into_uuid().to_string()
    }

    fn close_open_turn(&mut self) {
        let Some(turn) = self.turns.last_mut().filter(|turn| turn.is_open) else {
            return;
        };
        turn.is_open = false;
        if !turn.is_explicit && turn.completed.is_empty() && !turn.has_compaction {
            self.turns.pop();
        }
    }

    fn start_turn(&mut self, id: &str, moment: Moment<'_>, started_at: Option<i64>) {
        if self.listener == Listener::Nobody {
            self.close_open_turn();
        }
        let mut turn = self.review_of(id);
        turn.begun = moment.milliseconds();
        turn.started_at = started_at.or(turn.begun.map(|begun| begun / 1000));
        self.tell_turn_started(&turn);
        self.end_stretch();
        self.turns.push(turn);
    }

    fn end_turn(&mut self, id: Option<&str>, status: TurnStatus, end: moment::End) {
        let position = match id.filter(|id| !id.is_empty()) {
            Some(id) => self.position_of(id),
            None => self.turns.iter().rposition(|turn| turn.is_open),
        };
        let Some(position) = position else {
            return;
        };
        self.said_of(position);
        if self.turns[position].status == TurnStatus::Interrupted {
            return;
        }
        self.break_off_items(position, status);
        self.let_go_of_held(position, status);
        let turn = &mut self.turns[position];
        turn.is_open = false;
        turn.completed_at = end.completed_at;
        turn.duration_ms = end.duration_ms.or_else(|| end.since(turn.begun));
        turn.status = match (status, &turn.error) {
            (TurnStatus::Completed, Some(_)) => TurnStatus::Failed,
            (TurnStatus::Interrupted, _) => {
                turn.error = None;
                status
            }
            _ => status,
        };
        self.tell_turn_completed(position);
    }

    /// Ends what is running in a turn that ends, terminals in the background excepted.
    fn break_off_items(&mut self, position: usize, status: TurnStatus) {
        let turn = &mut self.turns[position];
        let (outliving, left): (Vec<_>, Vec<_>) = std::mem::take(&mut turn.running)
            .into_iter()
            .partition(|item| item::outlives_turn(item));
        turn.running = outliving;
        for left in left.into_iter().filter(|item| concessions::needs_end(item)) {
            let completed_at_ms = self.now;
            let turn = &mut self.turns[position];
            let item = match turn.concessions.waits_for_people(&left) {
                true => item::declined(left.item),
                false => item::broken_off(left.item),
            };
            let is_told = !concessions::ends_with_turn(&item, status);
            turn.completed.push(TimedItem {
                item,
                completed_at_ms,
                ..left
            });
            if is_told {
                self.tell_last_completed(position);
            }
        }
    }

    fn fail(&mut self, id: Option<&str>, event: &codex_protocol::ErrorEvent) {
        let info = event.codex_error_info.as_ref();
        if info.is_some_and(|info| !info.fails_turn()) {
            return;
        }
        let error = turn_error(&event.message, info, None);
        let failed = self
            .turns
            .iter_mut()
            .rev()
            .find(|turn| turn.is_open && id.is_none_or(|id| turn.id == id));
        if let Some(turn) = failed {
            turn.error = Some(error.clone());
        }
        self.tell_error(id.unwrap_or_default(), error, false);
    }

    fn roll_back(&mut self, turns: u32) {
        self.close_open_turn();
        self.end_stretch();
        self.entered = None;
        let dropped = usize::try_from(turns).unwrap_or(usize::MAX);
        self.turns
            .truncate(self.turns.len().saturating_sub(dropped));
        self.numbered = self.turns.iter().map(FoldedTurn::numbered).sum();
    }
}

#[derive(Clone, Copy, Debug)]
enum Thought {
    Summary,
    Raw,
}
