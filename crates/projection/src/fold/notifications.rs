//! Converts changes of a live thread to notifications.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::*;
use codex_protocol as v1;
use codex_protocol::EventMsg;

use super::change::{Change, Moment};
use super::consumer::{Consumer, ItemEnd};
use super::event_notification::{is_of_call, notification_of, updated_diff};
use super::turn::FoldedTurn;
use crate::approval_review::{approval_review, review_warning};
use crate::item::id_of;
use crate::limits::wire_limits;
use crate::realtime::{RealtimeProjection, is_realtime};
use crate::turn_error::turn_error;
use crate::usage_limits::{wire_tokens, wire_turn_usage};

/// Collects changes.
#[derive(Debug)]
pub struct Notifications {
    thread: String,
    pending: Vec<Change>,
    /// Commands that were asked about before they began, and have not ended.
    waiting: Vec<WaitingCommand>,
    /// The checkpoint of the turn that is about to end.
    checkpoint: Option<String>,
    /// Its use.
    usage: Option<TurnUsage>,
    /// What the last response used, which is told after the calls of that response.
    held_tokens: Option<ServerNotification>,
    /// What the thread has used, as far as clients know. New limits of the account bring the same figures again.
    counted: Option<v1::TokenUsageInfo>,
    /// The realtime conversation, from the first one on.
    realtime: Option<Box<RealtimeProjection>>,
}

/// A command that clients know since they were asked about it.
#[derive(Debug)]
struct WaitingCommand {
    turn: String,
    item: TimedItem,
    /// Whether it runs.
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

    pub(super) fn realtime_items(&self) -> Vec<ThreadRealtimeEntry> {
        let realtime = self.realtime.iter();
        realtime.flat_map(|one| one.items().cloned()).collect()
    }

    /// Takes the changes since the last call.
    pub(super) fn take(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.pending)
    }

    fn push(&mut self, notification: ServerNotification) {
        self.pending.push(notification.into());
    }

    fn push_at(&mut self, moment: Moment, notification: ServerNotification) {
        self.pending.push(Change {
            notification,
            moment,
        });
    }

    /// Takes a command off those that wait, if it is one of them.
    fn take_waiting(&mut self, id: &str) -> Option<TimedItem> {
        let is_it = |one: &WaitingCommand| id_of(&one.item.item) == id;
        let position = self.waiting.iter().position(is_it)?;
        Some(self.waiting.swap_remove(position).item)
    }

    /// Notes that a command begins. Returns whether it has waited for an approval.
    fn begin_waiting(&mut self, id: &str) -> bool {
        let mut waiting = self.waiting.iter_mut();
        let begun = waiting.find(|one| id_of(&one.item.item) == id);
        begun.map(|one| one.has_begun = true).is_some()
    }

    pub(super) fn begin_of(&self, turn: &str, item: &TimedItem) -> ServerNotification {
        ServerNotification::ItemStarted(ItemStartedNotification {
            item: item.clone(),
            thread_id: self.thread.clone(),
            turn_id: turn.to_owned(),
            started_at_ms: item.started_at_ms,
        })
    }

    /// The commands of a turn that have not begun and wait for an approval.
    pub(super) fn asked(&self, turn: &str) -> Vec<TimedItem> {
        let is_asked = |one: &&WaitingCommand| !one.has_begun && one.turn == turn;
        let asked = self.waiting.iter().filter(is_asked);
        asked.map(|one| one.item.clone()).collect()
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
            self.push_at(Moment::CommandNeverRan, ended);
        }
    }
}

/// Gives a declined command the actions that it had when it was asked about, as it began with them. Returns those that
/// it would have run with, if they are others.
fn end_as_asked(ended: &mut TimedItem, asked: &TimedItem) -> Option<Vec<CommandAction>> {
    let ThreadItem::CommandExecution {
        command_actions: before,
        ..
    } = &asked.item
    else {
        return None;
    };
    match &mut ended.item {
        ThreadItem::CommandExecution {
            status: CommandExecutionStatus::Declined,
            command_actions,
            ..
        } if command_actions != before => Some(std::mem::replace(command_actions, before.clone())),
        _ => None,
    }
}

fn begun(item: ThreadItem, now: Option<i64>) -> TimedItem {
    TimedItem {
        item,
        started_at_ms: now,
        completed_at_ms: None,
    }
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
        self.push(ServerNotification::TurnCompleted(completed));
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
        self.push(ServerNotification::ThreadCheckpointCreated(created));
    }

    fn item_started(&mut self, turn: &str, item: &ThreadItem, now: Option<i64>) {
        let item = begun(item.clone(), now);
        let is_compaction = matches!(item.item, ThreadItem::ContextCompaction { .. });
        let moment = if self.begin_waiting(id_of(&item.item)) {
            Moment::CommandRuns
        } else {
            Moment::Usual
        };
        let started = self.begin_of(turn, &item);
        self.push_at(moment, started);
        if is_compaction {
            self.push_counted(turn);
        }
    }

    fn command_asked(&mut self, turn: &str, item: ThreadItem, now: Option<i64>) {
        let item = begun(item, now);
        self.waiting.push(WaitingCommand {
            turn: turn.to_owned(),
            item: item.clone(),
            has_begun: false,
        });
        let asked = self.begin_of(turn, &item);
        self.push_at(Moment::CommandAsked, asked);
    }

    fn item_completed(&mut self, turn: &str, item: &TimedItem, end: ItemEnd, now: Option<i64>) {
        let mut item = item.clone();
        let waited = self.take_waiting(id_of(&item.item));
        let run_actions = waited.and_then(|waited| end_as_asked(&mut item, &waited));
        let moment = match end {
            ItemEnd::Usual if run_actions.is_some() => Moment::Declined {
                by_client: false,
                run_actions,
            },
            ItemEnd::Usual => Moment::Usual,
            ItemEnd::DeclinedByClient => Moment::Declined {
                by_client: true,
                run_actions,
            },
            ItemEnd::ByInterrupt => Moment::EndedByInterrupt,
            ItemEnd::BeforeInterrupt => Moment::EndedBeforeInterrupt,
        };
        let ended = completed(self.thread.clone(), turn, item, now);
        self.push_at(moment, ended);
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

    fn other_event(
        &mut self,
        turns: &[FoldedTurn],
        turn: &str,
        event: &EventMsg,
        now: Option<i64>,
    ) {
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
                self.pending.extend(warning.map(Change::from));
                self.push(approval_review(self.thread.clone(), review));
            }
            EventMsg::TurnDiff(diff) => match updated_diff(&self.thread, turn, diff) {
                (updated, None) => self.push(updated),
                (updated, Some(absolute)) => {
                    self.push_at(Moment::DiffedOutsideRepository(absolute), updated);
                }
            },
            event if is_realtime(event) => {
                let realtime = self.realtime.get_or_insert_default();
                self.pending
                    .extend(realtime.apply(&self.thread, now, event));
            }
            _ => {
                let sent = notification_of(&self.thread, turn, event);
                self.pending.extend(sent.map(Change::from));
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

    /// What the thread had used when it was loaded.
    pub(super) fn count_from(&mut self, used: Option<&v1::TokenUsageInfo>) {
        self.counted = used.copied();
    }

    /// What is to be told before this event about the last response.
    pub(super) fn tokens_before(&mut self, event: &EventMsg) -> Option<Change> {
        let notification = self.held_tokens.take_if(|_| !is_of_call(event))?;
        Some(Change {
            notification,
            moment: Moment::UsageCounted,
        })
    }

    /// Compactions and turns that break off tell again what the thread has used.
    fn push_counted(&mut self, turn: &str) {
        if let Some(counted) = self.counted {
            let updated = self.tokens(turn, &counted);
            self.push_at(Moment::UsageRepeated, updated);
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
                self.push_at(Moment::UsageReported, updated);
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
pub fn usage(info: &v1::TokenUsageInfo) -> ThreadTokenUsage {
    ThreadTokenUsage {
        total: wire_tokens(&info.total_token_usage),
        last: wire_tokens(&info.last_token_usage),
        model_context_window: info.model_context_window,
    }
}
