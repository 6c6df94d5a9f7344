//! Adds what turns use to the goal of a thread.
//!
//! It is added after each call of a tool, when a turn fails and when it ends, and before the goal changes: a goal that is
//! set in the middle of a turn is charged from then on.

use codex_projection::{goal_updated, wire_goal};
use codex_protocol::{EventMsg, TokenUsageInfo};
use codex_thread_state::{Goal, GoalStatus};
use jiff::Timestamp;

use super::actor::Actor;

/// After this number of successive goal turns without a tool call the goal is paused.
const IDLE_TURNS: u32 = 5;

impl Actor {
    /// What the thread had used when it was loaded, which no goal is charged for and clients know.
    pub(crate) fn count_from(&mut self, used: Option<&TokenUsageInfo>) {
        self.fold.count_from(used);
        self.follow_up.counted = used.map(|used| used.total_token_usage);
    }

    /// A call has ended, or the turn has failed.
    pub(super) fn charge_goal_for(&mut self, now: i64, event: &EventMsg) {
        let is_call = matches!(
            event,
            EventMsg::ExecCommandEnd(_)
                | EventMsg::PatchApplyEnd(_)
                | EventMsg::McpToolCallEnd(_)
                | EventMsg::DynamicToolCallResponse(_)
        );
        let has_failed = matches!(event, EventMsg::Error(_)) && self.follow_up.failure.is_some();
        if (is_call || has_failed) && self.is_kept() {
            let turn = self.turn.clone();
            self.charge_goal(now, turn, true);
        }
    }

    /// Before the goal changes: charges the old one, and shows that if there is something new. What an interrupted turn has
    /// used is shown with the change. `turn` is the one that changes it.
    pub(crate) fn charge_goal_now(&mut self, turn: Option<String>) {
        if self.is_kept() {
            let is_shown = !self.follow_up.is_charge_hidden;
            self.charge_goal(Timestamp::now().as_millisecond(), turn, is_shown);
        }
    }

    /// At the end of a turn. That of an interrupted one is shown with the next change of the goal.
    pub(super) fn charge_goal_for_turn(
        &mut self,
        now: i64,
        turn: &str,
        is_interrupted: bool,
    ) -> Option<Goal> {
        if self.follow_up.is_for_goal {
            let has_called = self.follow_up.has_called;
            let idle = &mut self.follow_up.idle_turns;
            *idle = if has_called { 0 } else { *idle + 1 };
            if *idle >= IDLE_TURNS {
                *idle = 0;
                let pause = Some(GoalStatus::Paused);
                self.follow_up.failure = self.follow_up.failure.or(pause);
            }
        }
        let goal = self.charge_goal(now, Some(turn.to_owned()), !is_interrupted);
        self.follow_up.is_charge_hidden |= is_interrupted;
        goal
    }

    /// Charges the goal for what was used since the last time, and shows that if the goal was active.
    fn charge_goal(&mut self, now: i64, turn: Option<String>, is_shown: bool) -> Option<Goal> {
        let used = self.follow_up.take_usage(now);
        let thread = self.thread.id().to_string();
        let before = self.logged(self.state().goal(&thread))??;
        let is_active = before.status == GoalStatus::Active;
        let status = self.follow_up.failure.filter(|_| is_active);
        let was_hidden = std::mem::take(&mut self.follow_up.is_charge_hidden);
        if !is_active || (used.is_none() && status.is_none() && !was_hidden) {
            return Some(before);
        }
        let (tokens, spent) = used.unwrap_or_default();
        let charged = self.state().charge_goal(&thread, tokens, spent, status);
        let goal = self.logged(charged)??;
        if is_shown {
            let shown = wire_goal(&thread, goal.clone());
            self.server.broadcast(&goal_updated(shown, turn));
        }
        Some(goal)
    }
}
