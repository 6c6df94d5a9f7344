//! Converts changes of a live thread to notifications.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::*;
use codex_protocol as v1;
use codex_protocol::EventMsg;

use super::consumer::Consumer;
use super::event_notification::{is_of_call, notification_of, updated_diff};
use super::turn::{FoldedTurn, ReviewState};
use crate::projection::approval_review::{approval_review, review_warning};
use crate::projection::item::id_of;
use crate::projection::limits::wire_limits;
use crate::projection::realtime::{RealtimeProjection, is_realtime};
use crate::projection::turn_error::turn_error;
use crate::projection::usage_limits::{wire_tokens, wire_turn_usage};

/// The clients that a notification is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    All,
    /// Those of releases after 0.117.
    Newer,
    /// The others.
    Older,
}

/// Collects notifications.
#[derive(Debug)]
pub(crate) struct Notifications {
    thread: String,
    pending: Vec<(Audience, ServerNotification)>,
    /// Commands that were asked about before they began, and have not ended.
    waiting: Vec<WaitingCommand>,
    /// The checkpoint of the turn that is about to end.
    checkpoint: Option<String>,
    /// Its use.
    usage: Option<TurnUsage>,
    /// What the last response used, which newer clients are told after the calls of that response.
    held_tokens: Option<ServerNotification>,
    /// What the thread has used, as far as newer clients know. New limits of the account bring the same figures again.
    counted: Option<v1::TokenUsageInfo>,
    /// The realtime conversation, from the first one on.
    realtime: Option<Box<RealtimeProjection>>,
}

/// A command that newer clients know since they were asked about it.
#[derive(Debug)]
struct WaitingCommand {
    item: TimedItem,
    /// Whether it runs, so that all clients know of it.
    has_begun: bool,
}

impl Notifications {
    pub(super) fn new(thread: String) -> Self {
        Self {
            thread,
            pending: Vec::new(),
            waiting: Vec::new(),
            checkpoint: None,
            usage: None,
            held_tokens: None,
            counted: None,
            realtime: None,
        }
    }

    pub(super) fn has_conversation(&self) -> bool {
        self.realtime.as_ref().is_some_and(|one| one.is_open())
    }

    /// Takes the notifications since the last call.
    pub(super) fn take(&mut self) -> Vec<(Audience, ServerNotification)> {
        std::mem::take(&mut self.pending)
    }

    fn push(&mut self, notification: ServerNotification) {
        self.pending.push((Audience::All, notification));
    }

    /// Takes a command off those that wait, if it is one of them.
    fn take_waiting(&mut self, id: &str) -> Option<TimedItem> {
        let is_it = |one: &WaitingCommand| id_of(&one.item.item) == id;
        let position = self.waiting.iter().position(is_it)?;
        Some(self.waiting.swap_remove(position).item)
    }

    /// Notes that a command begins. Returns whether newer clients know of it already.
    fn begin_waiting(&mut self, id: &str) -> bool {
        let mut waiting = self.waiting.iter_mut();
        let begun = waiting.find(|one| id_of(&one.item.item) == id);
        begun.map(|one| one.has_begun = true).is_some()
    }

    /// Ends the commands that nobody decided about.
    fn end_waiting(&mut self, turn: &str, now: Option<i64>) {
        let never_began = |one: &mut WaitingCommand| !one.has_begun;
        let undecided: Vec<_> = self.waiting.extract_if(.., never_began).collect();
        for mut one in undecided.into_iter().map(|one| one.item) {
            if let ThreadItem::CommandExecution { status, .. } = &mut one.item {
                *status = CommandExecutionStatus::Declined;
            }
            one.completed_at_ms = now;
            let ended = completed(self.thread.clone(), turn, one, now);
            self.pending.push((Audience::Newer, ended));
        }
    }

    /// Pushes a notification about an item. Clients of 0.117 know the items around a review by the id of its turn.
    fn push_item(
        &mut self,
        turn: &str,
        mut item: TimedItem,
        notify: impl Fn(TimedItem) -> ServerNotification,
    ) {
        if let ThreadItem::EnteredReviewMode { .. } | ThreadItem::ExitedReviewMode { .. } =
            item.item
        {
            self.pending.push((Audience::Newer, notify(item.clone())));
            name_after_turn(&mut item.item, turn);
            self.pending.push((Audience::Older, notify(item)));
        } else {
            self.push(notify(item));
        }
    }
}

/// Gives an item around a review the id of its turn.
fn name_after_turn(item: &mut ThreadItem, turn: &str) {
    if let ThreadItem::EnteredReviewMode { id, .. } | ThreadItem::ExitedReviewMode { id, .. } = item
    {
        turn.clone_into(id);
    }
}

/// A declined command with the actions that it had when it was asked about; none if it has them.
fn declined_as_asked(ended: &TimedItem, asked: &TimedItem) -> Option<TimedItem> {
    let ThreadItem::CommandExecution {
        command_actions: before,
        ..
    } = &asked.item
    else {
        return None;
    };
    let mut as_asked = ended.clone();
    match &mut as_asked.item {
        ThreadItem::CommandExecution {
            status: CommandExecutionStatus::Declined,
            command_actions,
            ..
        } if command_actions != before => command_actions.clone_from(before),
        _ => return None,
    }
    Some(as_asked)
}

fn completed(
    thread_id: String,
    turn: &str,
    item: TimedItem,
    now: Option<i64>,
) -> ServerNotification {
    ServerNotification::ItemCompleted(ItemCompletedNotification {
        item,
        thread_id,
        turn_id: turn.to_owned(),
        completed_at_ms: now,
    })
}

impl Consumer for Notifications {
    fn turn_started(&mut self, turn: &FoldedTurn) {
        self.push(ServerNotification::TurnStarted(TurnStartedNotification {
            thread_id: self.thread.clone(),
            turn: turn.with_items(Vec::new(), TurnItemsView::NotLoaded),
        }));
    }

    fn turn_completed(&mut self, turn: &FoldedTurn) {
        self.end_waiting(&turn.id, turn.completed_at.map(|seconds| seconds * 1000));
        if turn.status != TurnStatus::Completed {
            self.push_counted(&turn.id);
        }
        let checkpoint_id = self.checkpoint.take();
        let completed = TurnCompletedNotification {
            thread_id: self.thread.clone(),
            turn: turn.to_turn(),
            checkpoint_id,
            usage: self.usage.take(),
        };
        if turn.review == ReviewState::None {
            return self.push(ServerNotification::TurnCompleted(completed));
        }
        let mut older = completed.clone();
        for item in &mut older.turn.items {
            name_after_turn(&mut item.item, &turn.id);
        }
        for (audience, completed) in [(Audience::Newer, completed), (Audience::Older, older)] {
            let completed = ServerNotification::TurnCompleted(completed);
            self.pending.push((audience, completed));
        }
    }

    fn turn_usage(&mut self, usage: &v1::TurnUsage) {
        self.usage = Some(wire_turn_usage(usage));
    }

    fn checkpoint_created(&mut self, turn: &str, checkpoint: &str) {
        self.checkpoint = Some(checkpoint.to_owned());
        let created = ThreadCheckpointCreatedNotification {
            thread_id: self.thread.clone(),
            turn_id: turn.to_owned(),
            checkpoint_id: checkpoint.to_owned(),
        };
        let created = ServerNotification::ThreadCheckpointCreated(created);
        self.pending.push((Audience::Newer, created));
    }

    fn item_started(&mut self, turn: &str, item: &ThreadItem, now: Option<i64>) {
        let item = TimedItem {
            item: item.clone(),
            started_at_ms: now,
            completed_at_ms: None,
        };
        let thread_id = self.thread.clone();
        let started = |item| {
            ServerNotification::ItemStarted(ItemStartedNotification {
                item,
                thread_id: thread_id.clone(),
                turn_id: turn.to_owned(),
                started_at_ms: now,
            })
        };
        let is_compaction = matches!(item.item, ThreadItem::ContextCompaction { .. });
        if self.begin_waiting(id_of(&item.item)) {
            self.pending.push((Audience::Older, started(item)));
        } else {
            self.push_item(turn, item, started);
        }
        if is_compaction {
            self.push_counted(turn);
        }
    }

    fn command_asked(&mut self, turn: &str, item: ThreadItem, now: Option<i64>) {
        let item = TimedItem {
            item,
            started_at_ms: now,
            completed_at_ms: None,
        };
        self.waiting.push(WaitingCommand {
            item: item.clone(),
            has_begun: false,
        });
        let asked = ItemStartedNotification {
            item,
            thread_id: self.thread.clone(),
            turn_id: turn.to_owned(),
            started_at_ms: now,
        };
        let asked = ServerNotification::ItemStarted(asked);
        self.pending.push((Audience::Newer, asked));
    }

    fn item_completed(&mut self, turn: &str, item: &TimedItem, now: Option<i64>) {
        let waited = self.take_waiting(id_of(&item.item));
        let thread = self.thread.clone();
        if let Some(as_asked) = waited.and_then(|waited| declined_as_asked(item, &waited)) {
            // What a reviewer declined ends as it began.
            let (newer, older) = (completed(thread.clone(), turn, as_asked, now), item.clone());
            self.pending.push((Audience::Newer, newer));
            let older = completed(thread, turn, older, now);
            return self.pending.push((Audience::Older, older));
        }
        self.push_item(turn, item.clone(), |item| {
            completed(thread.clone(), turn, item, now)
        });
    }

    fn patch_output(&mut self, turn: &str, item: &str, output: &str) {
        self.push(ServerNotification::FileChangeOutputDelta(
            FileChangeOutputDeltaNotification {
                thread_id: self.thread.clone(),
                turn_id: turn.to_owned(),
                item_id: item.to_owned(),
                delta: output.to_owned(),
            },
        ));
    }

    fn error(&mut self, turn: &str, error: &TurnError) {
        self.push_error(turn, error.clone(), false);
    }

    fn other_event(&mut self, turns: &[FoldedTurn], turn: &str, event: &EventMsg) {
        match event {
            EventMsg::ExecCommandOutputDelta(delta) => self.push_output(turns, delta),
            EventMsg::TerminalInteraction(interaction) => {
                self.push_interaction(turns, interaction);
            }
            EventMsg::StreamError(error) => {
                let info = error.codex_error_info.as_ref();
                let details = error.additional_details.as_deref();
                self.push_error(turn, turn_error(&error.message, info, details), true);
            }
            EventMsg::TokenCount(count) => self.push_usage(turns, turn, count),
            EventMsg::Warning(warning) => self.push_warning(turns, turn, &warning.message),
            EventMsg::GuardianAssessment(review) => {
                let warning = review_warning(self.thread.clone(), review);
                self.pending
                    .extend(warning.map(|warning| (Audience::Newer, warning)));
                self.push(approval_review(self.thread.clone(), review));
            }
            EventMsg::TurnDiff(diff) => match updated_diff(&self.thread, turn, diff) {
                (updated, None) => self.push(updated),
                (absolute, Some(relative)) => {
                    self.pending.push((Audience::Older, absolute));
                    self.pending.push((Audience::Newer, relative));
                }
            },
            event if is_realtime(event) => {
                let realtime = self.realtime.get_or_insert_default();
                self.pending.extend(realtime.apply(&self.thread, event));
            }
            _ => {
                let sent = notification_of(&self.thread, turn, event).into_iter();
                self.pending.extend(sent.map(|one| (Audience::All, one)));
            }
        }
    }
}

impl Notifications {
    fn push_error(&mut self, turn: &str, error: TurnError, will_retry: bool) {
        self.push(ServerNotification::Error(ErrorNotification {
            error,
            will_retry,
            thread_id: self.thread.clone(),
            turn_id: turn.to_owned(),
        }));
    }

    /// A warning of the engine, except those that repeat in every turn or compaction.
    fn push_warning(&mut self, turns: &[FoldedTurn], id: &str, message: &str) {
        let turn = turns.iter().rev().find(|turn| turn.id == id);
        let is_usual = match turn {
            // Repeated before each turn: nothing is known about its model.
            None => !id.is_empty(),
            // Repeated after each compaction: long threads are less accurate.
            Some(turn) => turn
                .completed
                .last()
                .is_some_and(|last| matches!(last.item, ThreadItem::ContextCompaction { .. })),
        };
        if !is_usual {
            let thread_id = Some(self.thread.clone());
            let message = message.to_owned();
            self.push(ServerNotification::Warning(WarningNotification {
                message,
                thread_id,
            }));
        }
    }

    fn push_interaction(
        &mut self,
        turns: &[FoldedTurn],
        interaction: &v1::TerminalInteractionEvent,
    ) {
        let Some(turn_id) = turn_of(turns, &interaction.call_id) else {
            return;
        };
        self.push(ServerNotification::TerminalInteraction(
            TerminalInteractionNotification {
                thread_id: self.thread.clone(),
                turn_id,
                item_id: interaction.call_id.clone(),
                process_id: interaction.process_id.clone(),
                stdin: interaction.stdin.clone(),
            },
        ));
    }

    /// What newer clients know of the use of a thread when it is loaded.
    pub(super) fn count_from(&mut self, used: Option<&v1::TokenUsageInfo>) {
        self.counted = used.copied();
    }

    /// What newer clients are to be told before this event about the last response.
    pub(super) fn tokens_before(&mut self, event: &EventMsg) -> Option<ServerNotification> {
        self.held_tokens.take_if(|_| !is_of_call(event))
    }

    /// As in 0.169, compactions and turns that break off tell again what the thread has used.
    fn push_counted(&mut self, turn: &str) {
        if let Some(counted) = self.counted {
            let updated = self.tokens(turn, &counted);
            self.pending.push((Audience::Newer, updated));
        }
    }

    fn tokens(&self, turn: &str, used: &v1::TokenUsageInfo) -> ServerNotification {
        ServerNotification::ThreadTokenUsageUpdated(ThreadTokenUsageUpdatedNotification {
            thread_id: self.thread.clone(),
            turn_id: turn.to_owned(),
            token_usage: usage(used),
        })
    }

    fn push_usage(&mut self, turns: &[FoldedTurn], turn_id: &str, count: &v1::TokenCountEvent) {
        if let Some(info) = &count.info {
            let updated = self.tokens(turn_id, info);
            let is_new = self.counted.replace(*info) != Some(*info);
            if turns.iter().any(|turn| turn.is_open) {
                if is_new {
                    self.held_tokens = Some(updated.clone());
                }
                self.pending.push((Audience::Older, updated));
            } else {
                self.push(updated);
            }
        }
        if let Some(limits) = &count.rate_limits {
            let rate_limits = wire_limits(limits);
            self.push(ServerNotification::AccountRateLimitsUpdated(
                AccountRateLimitsUpdatedNotification { rate_limits },
            ));
        }
    }

    fn push_output(&mut self, turns: &[FoldedTurn], output: &v1::ExecCommandOutputDeltaEvent) {
        // Nothing comes after the end of an item, not even what a command writes while it is stopped.
        let Some(turn_id) = turn_of(turns, &output.call_id) else {
            return;
        };
        self.push(ServerNotification::CommandExecutionOutputDelta(
            CommandExecutionOutputDeltaNotification {
                thread_id: self.thread.clone(),
                turn_id,
                item_id: output.call_id.clone(),
                delta: String::from_utf8_lossy(&output.chunk.0).into_owned(),
            },
        ));
    }
}

/// The turn that a running item belongs to.
fn turn_of(turns: &[FoldedTurn], item_id: &str) -> Option<String> {
    let is_it = |item: &TimedItem| id_of(item) == item_id;
    let turn = turns.iter().find(|turn| turn.running.iter().any(is_it));
    turn.map(|turn| turn.id.clone())
}

/// Token usage in the form of the wire.
pub(crate) fn usage(info: &v1::TokenUsageInfo) -> ThreadTokenUsage {
    ThreadTokenUsage {
        total: wire_tokens(&info.total_token_usage),
        last: wire_tokens(&info.last_token_usage),
        model_context_window: info.model_context_window,
    }
}
