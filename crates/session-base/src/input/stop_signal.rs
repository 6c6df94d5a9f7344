//! The signal that stops a turn.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use codex_protocol::TurnAbortReason;
use tokio_util::sync::CancellationToken;

/// Stops a turn, with the reason, and knows whether it has ended. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct StopSignal {
    token: CancellationToken,
    reason: Arc<OnceLock<TurnAbortReason>>,
    is_at_limit: Arc<AtomicBool>,
    session_end: Arc<OnceLock<LateInput>>,
    has_ended: Arc<AtomicBool>,
}

/// What happens to input of the user that waits for the model in a turn that is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateInput {
    /// The user has stopped what it was for.
    GivenUp,
    /// It is the last message of the turn.
    Recorded,
    /// Its copy on disk stays, because the file of the thread ends before it.
    Left,
}

impl StopSignal {
    /// Stops the turn. The first reason counts.
    pub fn stop(&self, reason: TurnAbortReason) {
        let _ = self.reason.set(reason);
        self.token.cancel();
    }

    /// Stops the turn because a limit on its time is reached.
    pub fn stop_at_limit(&self) {
        if !self.is_stopped() {
            self.is_at_limit.store(true, Ordering::Relaxed);
        }
        self.stop(TurnAbortReason::Interrupted);
    }

    /// The turn ends with its session.
    pub fn note_session_end(&self, input: LateInput) {
        let _ = self.session_end.set(input);
    }

    /// What happens to input of the user that the model has not seen.
    pub fn late_input(&self) -> LateInput {
        match self.session_end.get() {
            Some(input) => *input,
            None if self.is_at_limit.load(Ordering::Relaxed) => LateInput::Recorded,
            None if self.reason() == TurnAbortReason::Replaced => LateInput::Recorded,
            None => LateInput::GivenUp,
        }
    }

    /// Who stopped the turn, for the model.
    pub fn origin(&self) -> &'static str {
        if self.is_at_limit.load(Ordering::Relaxed) {
            "at the time limit"
        } else {
            "by user"
        }
    }

    pub fn reason(&self) -> TurnAbortReason {
        let reason = self.reason.get().copied();
        reason.unwrap_or(TurnAbortReason::Interrupted)
    }

    pub fn is_stopped(&self) -> bool {
        self.token.is_cancelled()
    }

    /// The end of the turn is emitted.
    pub fn note_end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    /// Whether the end of the turn was emitted, so that clients may have seen it.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    pub async fn stopped(&self) {
        self.token.cancelled().await;
    }
}
