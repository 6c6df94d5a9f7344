//! The approvals of a turn that a reviewer decides about in place of a person.

use std::sync::atomic::{AtomicU32, Ordering};

use codex_model_client::Prompt;
use codex_protocol::ResponseItem;
use parking_lot::Mutex;

/// So many denials in a row end the turn.
const MAX_DENIALS: u32 = 3;

/// What a reviewer is shown of the turn, and how it has decided.
#[derive(Debug, Default)]
pub struct TurnReviews {
    /// What the model was sent and has answered so far.
    transcript: Mutex<Prompt>,
    /// How many reviews in a row denied.
    denials: AtomicU32,
}

impl TurnReviews {
    /// The model is sent a request.
    pub fn requested(&self, input: &Prompt) {
        self.transcript.lock().clone_from(input);
    }

    /// The model has completed an item.
    pub fn answered(&self, item: &ResponseItem) {
        self.transcript.lock().push(item);
    }

    pub fn transcript(&self) -> Prompt {
        self.transcript.lock().clone()
    }

    /// Counts a verdict. Returns why the turn has to end, if it has to.
    pub fn count(&self, is_allowed: bool) -> Option<String> {
        if is_allowed {
            self.denials.store(0, Ordering::Relaxed);
            return None;
        }
        let denials = self.denials.fetch_add(1, Ordering::Relaxed) + 1;
        (denials >= MAX_DENIALS).then(|| {
            format!(
                "Automatic approval review denied {denials} requests of this turn in a row, so the turn ends. \
                 Say how to go on, or let a person decide (`approvalsReviewer`: `user`)."
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_denials_in_a_row_end_the_turn() {
        let reviews = TurnReviews::default();
        for allowed in [false, false, true, false, false, true, false, false] {
            assert_eq!(reviews.count(allowed), None);
        }
        assert!(reviews.count(false).is_some());
    }
}
