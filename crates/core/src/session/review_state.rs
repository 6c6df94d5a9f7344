//! What lasts longer than an automatic review: the reviewer, and what the user allows after a denial.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::approval_review::{Action, ReviewerSlot};

/// So many reviewed actions can still be allowed by the user.
const MAX_RECENT: usize = 16;

/// What lasts longer than a review.
#[derive(Debug, Default)]
pub(super) struct ReviewState {
    pub(super) reviewer: ReviewerSlot,
    /// The newest reviewed actions, by turn and call.
    recent: VecDeque<ReviewedAction>,
    /// What the user has allowed after a denial, each for one time.
    allowed: Vec<Action>,
}

#[derive(Debug)]
pub(super) struct ReviewedAction {
    pub(super) turn: Arc<str>,
    pub(super) call_id: String,
    pub(super) action: Action,
}

impl ReviewState {
    /// Takes the permission of the user for an action, if there is one.
    pub(super) fn take_permission(&mut self, action: &Action) -> bool {
        let found = self
            .allowed
            .iter()
            .position(|allowed| allowed.does_the_same(action));
        if let Some(position) = found {
            self.allowed.remove(position);
        }
        found.is_some()
    }

    pub(super) fn note(&mut self, reviewed: ReviewedAction) {
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(reviewed);
    }

    /// The user allows the action of a call. An empty turn is any.
    pub(super) fn allow(&mut self, turn: &str, call_id: &str) {
        let is_it = |reviewed: &&ReviewedAction| {
            reviewed.call_id == call_id && (turn.is_empty() || *reviewed.turn == *turn)
        };
        let found = self.recent.iter().rev().find(is_it);
        self.allowed
            .extend(found.map(|reviewed| reviewed.action.clone()));
        let excess = self.allowed.len().saturating_sub(MAX_RECENT);
        self.allowed.drain(..excess);
    }
}
