//! The signal that stops a turn.

use std::sync::{Arc, OnceLock};

use codex_protocol::TurnAbortReason;
use tokio_util::sync::CancellationToken;

/// Stops a turn, with the reason. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopSignal {
    token: CancellationToken,
    reason: Arc<OnceLock<TurnAbortReason>>,
}

impl StopSignal {
    /// Stops the turn. The first reason counts.
    pub(crate) fn stop(&self, reason: TurnAbortReason) {
        let _ = self.reason.set(reason);
        self.token.cancel();
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
