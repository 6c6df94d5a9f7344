//! The signal that stops a turn.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use codex_protocol::TurnAbortReason;
use tokio_util::sync::CancellationToken;

/// Stops a turn, with the reason. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopSignal {
    token: CancellationToken,
    reason: Arc<OnceLock<TurnAbortReason>>,
    is_at_limit: Arc<AtomicBool>,
}

impl StopSignal {
    /// Stops the turn. The first reason counts.
    pub(crate) fn stop(&self, reason: TurnAbortReason) {
        let _ = self.reason.set(reason);
        self.token.cancel();
    }

    /// Stops the turn because a limit on its time is reached.
    pub(crate) fn stop_at_limit(&self) {
        if !self.is_stopped() {
            self.is_at_limit.store(true, Ordering::Relaxed);
        }
        self.stop(TurnAbortReason::Interrupted);
    }

    /// Who stopped the turn, for the model.
    pub(crate) fn origin(&self) -> &'static str {
        if self.is_at_limit.load(Ordering::Relaxed) {
            "at the time limit"
        } else {
            "by user"
        }
    }

    pub(crate) fn reason(&self) -> TurnAbortReason {
        let reason = self.reason.get().copied();
        reason.unwrap_or(TurnAbortReason::Interrupted)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.token.is_cancelled()
    }

    pub(crate) async fn stopped(&self) {
        self.token.cancelled().await;
    }
}
