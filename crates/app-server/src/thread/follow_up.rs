//! What an actor records about a turn to decide what follows it.

use codex_protocol::{CodexErrorInfo, ErrorEvent, EventMsg, LimitScope, TokenUsage};
use codex_thread_state::GoalStatus;

use super::queue_handover::HandedOver;

/// The state for turns that start without a request.
#[derive(Debug, Default)]
pub(super) struct FollowUp {
    /// Tokens that the goal is not charged for yet, without cached input.
    tokens: i64,
    /// Milliseconds that the goal is not charged for yet, up to `since`.
    spent: i64,
    /// The time since when the running turn is to be charged, in Unix milliseconds.
    since: Option<i64>,
    /// The tokens that were counted last.
    pub(super) counted: Option<TokenUsage>,
    /// Whether the goal was charged without a notification.
    pub(super) is_charge_hidden: bool,
    /// Whether the goal started it.
    pub(super) is_for_goal: bool,
    /// Whether the running turn has called a tool.
    pub(super) has_called: bool,
    /// The number of successive goal turns without a tool call.
    pub(super) idle_turns: u32,
    /// Whether the turn has an answer or has failed: compactions, user commands and turns that only plan have none.
    pub(super) is_conversation: bool,
    /// The goal status after a failure.
    pub(super) failure: Option<GoalStatus>,
    /// Whether the running turn has reached a limit of the thread or its tree, which leaves nothing for another one.
    pub(super) is_at_limit: bool,
    /// Whether no turn starts by itself because a client interrupted the last one, or because of a limit.
    pub(super) is_held: bool,
    /// Whether queued messages wait: the last turn was interrupted before the thread was loaded.
    pub(super) is_queue_held: bool,
    /// The message of the queue that the running turn has.
    pub(super) handed_over: Option<HandedOver>,
}

impl FollowUp {
    /// Updates the state with an event.
    pub(super) fn take(&mut self, now: i64, event: &EventMsg) {
        match event {
            EventMsg::TurnStarted(_) => {
                (self.since, self.failure) = (Some(now), None);
                (self.has_called, self.is_conversation) = (false, false);
                self.is_at_limit = false;
            }
            EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_) => {
                self.spend_until(now);
                self.since = None;
            }
            // The same figures come again with new limits of the account.
            EventMsg::TokenCount(count) => {
                if let Some(info) = &count.info
                    && self.counted.as_ref() != Some(&info.total_token_usage)
                {
                    let last = &info.last_token_usage;
                    self.tokens += (last.input_tokens - last.cached_input_tokens).max(0);
                    self.tokens += last.output_tokens.max(0);
                    self.counted = Some(info.total_token_usage);
                }
            }
            EventMsg::Error(error) => {
                self.is_conversation = true;
                self.failed(error);
            }
            EventMsg::AgentMessage(message) => self.is_conversation |= !message.message.is_empty(),
            EventMsg::EnteredReviewMode(_) => self.is_conversation = true,
            EventMsg::ExecCommandBegin(_)
            | EventMsg::PatchApplyBegin(_)
            | EventMsg::McpToolCallBegin(_)
            | EventMsg::DynamicToolCallRequest(_)
            | EventMsg::WebSearchBegin(_) => self.has_called = true,
            _ => {}
        }
    }

    /// The tokens and milliseconds that the goal is not charged for yet, which it now is; none if there are none.
    pub(super) fn take_usage(&mut self, now: i64) -> Option<(i64, i64)> {
        self.spend_until(now);
        let used = (
            std::mem::take(&mut self.tokens),
            std::mem::take(&mut self.spent),
        );
        Some(used).filter(|used| *used != (0, 0))
    }

    fn spend_until(&mut self, now: i64) {
        if let Some(since) = &mut self.since {
            self.spent += (now - std::mem::replace(since, now)).max(0);
        }
    }

    fn failed(&mut self, error: &ErrorEvent) {
        let exceeded = error.exceeded_limit;
        self.is_at_limit |= exceeded.is_some_and(|limit| limit.scope != LimitScope::Turn);
        let info = error.codex_error_info.as_ref();
        if info.is_none_or(CodexErrorInfo::fails_turn) {
            let is_limit = matches!(
                info,
                Some(CodexErrorInfo::UsageLimitExceeded | CodexErrorInfo::SessionBudgetExceeded)
            );
            self.failure = Some(if is_limit {
                GoalStatus::UsageLimited
            } else {
                GoalStatus::Blocked
            });
        }
    }
}
