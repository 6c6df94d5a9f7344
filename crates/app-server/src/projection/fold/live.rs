//! What clients are told while the fold goes on.

use codex_app_server_protocol::ServerNotification as Told;
use codex_app_server_protocol::v2::*;
use codex_protocol as v1;
use codex_protocol::EventMsg;

use super::review::Review;
use super::{Fold, FoldedTurn, Listener};
use crate::projection::item::id_of;
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
            self.tell_item_started(&turn_id, item.clone());
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

    pub(super) fn tell_item_started(&mut self, turn_id: &str, item: ThreadItem) {
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

    pub(super) fn tell_item_completed(&mut self, turn_id: &str, item: ThreadItem) {
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
            Some(turn) => matches!(
                turn.completed.last(),
                Some(ThreadItem::ContextCompaction { .. })
            ),
        };
        if !is_usual {
            let thread_id = Some(self.thread.clone());
            let message = message.to_owned();
            self.tell(Told::Warning(WarningNotification { message, thread_id }));
        }
    }

    /// Events that make no item and no turn.
    pub(super) fn tell_of(&mut self, id: &str, event: &EventMsg) {
        let (thread_id, turn_id) = (self.thread.clone(), id.to_owned());
        match event {
            EventMsg::AgentMessageContentDelta(delta) => {
                let v1::ItemDeltaEvent {
                    turn_id,
                    item_id,
                    delta,
                    ..
                } = delta.clone();
                self.tell(Told::AgentMessageDelta(AgentMessageDeltaNotification {
                    thread_id,
                    turn_id,
                    item_id,
                    delta,
                }));
            }
            EventMsg::PlanDelta(delta) => {
                let v1::ItemDeltaEvent {
                    turn_id,
                    item_id,
                    delta,
                    ..
                } = delta.clone();
                self.tell(Told::PlanDelta(PlanDeltaNotification {
                    thread_id,
                    turn_id,
                    item_id,
                    delta,
                }));
            }
            EventMsg::ReasoningContentDelta(delta) => self.tell(Told::ReasoningSummaryTextDelta(
                ReasoningSummaryTextDeltaNotification {
                    thread_id,
                    turn_id: delta.turn_id.clone(),
                    item_id: delta.item_id.clone(),
                    delta: delta.delta.clone(),
                    summary_index: delta.summary_index,
                },
            )),
            EventMsg::ReasoningRawContentDelta(delta) => {
                self.tell(Told::ReasoningTextDelta(ReasoningTextDeltaNotification {
                    thread_id,
                    turn_id: delta.turn_id.clone(),
                    item_id: delta.item_id.clone(),
                    delta: delta.delta.clone(),
                    content_index: delta.content_index,
                }));
            }
            EventMsg::AgentReasoningSectionBreak(section) => self.tell(
                Told::ReasoningSummaryPartAdded(ReasoningSummaryPartAddedNotification {
                    thread_id,
                    turn_id,
                    item_id: section.item_id.clone(),
                    summary_index: section.summary_index,
                }),
            ),
            EventMsg::ExecCommandOutputDelta(delta) => self.tell_output(turn_id, delta),
            EventMsg::TerminalInteraction(interaction) => {
                let turn_id = self.turn_of(&interaction.call_id).unwrap_or(turn_id);
                self.tell(Told::TerminalInteraction(TerminalInteractionNotification {
                    thread_id,
                    turn_id,
                    item_id: interaction.call_id.clone(),
                    process_id: interaction.process_id.clone(),
                    stdin: interaction.stdin.clone(),
                }));
            }
            EventMsg::StreamError(error) => {
                let info = error.codex_error_info.as_ref();
                let details = error.additional_details.as_deref();
                self.tell_error(id, turn_error(&error.message, info, details), true);
            }
            EventMsg::TokenCount(count) => {
                if let Some(info) = &count.info {
                    let token_usage = usage(info);
                    self.tell(Told::ThreadTokenUsageUpdated(
                        ThreadTokenUsageUpdatedNotification {
                            thread_id,
                            turn_id,
                            token_usage,
                        },
                    ));
                }
                if let Some(limits) = &count.rate_limits {
                    let rate_limits = super::super::limits::wire_limits(limits);
                    self.tell(Told::AccountRateLimitsUpdated(
                        AccountRateLimitsUpdatedNotification { rate_limits },
                    ));
                }
            }
            EventMsg::ModelReroute(reroute) => {
                let reason = match reroute.reason {
                    v1::ModelRerouteReason::HighRiskCyberActivity => {
                        ModelRerouteReason::HighRiskCyberActivity
                    }
                    _ => return,
                };
                self.tell(Told::ModelRerouted(ModelReroutedNotification {
                    thread_id,
                    turn_id,
                    from_model: reroute.from_model.clone(),
                    to_model: reroute.to_model.clone(),
                    reason,
                }));
            }
            EventMsg::PlanUpdate(update) => {
                self.tell(Told::TurnPlanUpdated(plan(thread_id, turn_id, update)));
            }
            EventMsg::TurnDiff(diff) => {
                let diff = diff.unified_diff.clone();
                self.tell(Told::TurnDiffUpdated(TurnDiffUpdatedNotification {
                    thread_id,
                    turn_id,
                    diff,
                }));
            }
            EventMsg::ContextCompacted => {
                self.tell(Told::ContextCompacted(ContextCompactedNotification {
                    thread_id,
                    turn_id,
                }));
            }
            EventMsg::RawResponseItem(raw) => self.tell(Told::RawResponseItemCompleted(
                RawResponseItemCompletedNotification {
                    thread_id,
                    turn_id,
                    item: raw.item.clone(),
                },
            )),
            EventMsg::McpStartupUpdate(update) => self.tell(startup(update)),
            EventMsg::Warning(warning) => self.tell_warning(id, &warning.message),
            EventMsg::DeprecationNotice(notice) => {
                self.tell(Told::DeprecationNotice(DeprecationNoticeNotification {
                    summary: notice.summary.clone(),
                    details: notice.details.clone(),
                }));
            }
            _ => {}
        }
    }

    /// The turn in which an item that still runs began.
    fn turn_of(&self, item_id: &str) -> Option<String> {
        let mut turns = self.turns.iter();
        let has = |item: &ThreadItem| id_of(item) == item_id;
        let turn = turns.find(|turn| turn.running.iter().any(has))?;
        Some(turn.id.clone())
    }

    fn tell_output(&mut self, turn_id: String, output: &v1::ExecCommandOutputDeltaEvent) {
        let turn_id = self.turn_of(&output.call_id).unwrap_or(turn_id);
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

fn startup(update: &v1::McpStartupUpdateEvent) -> Told {
    let (status, error) = match &update.status {
        v1::McpStartupStatus::Starting => (McpServerStartupState::Starting, None),
        v1::McpStartupStatus::Ready => (McpServerStartupState::Ready, None),
        v1::McpStartupStatus::Cancelled => (McpServerStartupState::Cancelled, None),
        v1::McpStartupStatus::Failed { error } => {
            (McpServerStartupState::Failed, Some(error.clone()))
        }
    };
    Told::McpServerStatusUpdated(McpServerStatusUpdatedNotification {
        name: update.server.clone(),
        status,
        error,
    })
}

fn plan(
    thread_id: String,
    turn_id: String,
    update: &v1::UpdatePlan,
) -> TurnPlanUpdatedNotification {
    let step = |step: &v1::PlanStep| TurnPlanStep {
        step: step.step.clone(),
        status: match step.status {
            v1::StepStatus::Pending => TurnPlanStepStatus::Pending,
            v1::StepStatus::InProgress => TurnPlanStepStatus::InProgress,
            v1::StepStatus::Completed => TurnPlanStepStatus::Completed,
        },
    };
    TurnPlanUpdatedNotification {
        thread_id,
        turn_id,
        explanation: update.explanation.clone(),
        plan: update.plan.iter().map(step).collect(),
    }
}
