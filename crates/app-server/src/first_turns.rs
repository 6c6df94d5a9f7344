//! Turns that were asked for, and first turns whose message is not stored yet: a list that is asked for right after the turn
//! waits for them a moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

/// How long a list waits for a thread. Hooks may take longer.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The number of these turns.
#[derive(Clone, Debug)]
pub(crate) struct FirstTurns(watch::Sender<usize>);

/// One of these turns, until it is dropped or takes too long.
#[derive(Debug)]
pub(crate) struct FirstTurn {
    turns: FirstTurns,
    is_counted: AtomicBool,
}

impl Default for FirstTurns {
    fn default() -> Self {
        Self(watch::channel(0).0)
    }
}

impl FirstTurns {
    /// A turn was asked for, which may be the first one of its thread.
    pub(crate) fn begin(&self) -> FirstTurn {
        self.0.send_modify(|count| *count += 1);
        FirstTurn {
            turns: self.clone(),
            is_counted: AtomicBool::new(true),
        }
    }

    /// Waits until the messages of those that have begun are stored, or took too long.
    pub(crate) async fn stored(&self) {
        let mut count = self.0.subscribe();
        // Others may begin meanwhile.
        let _ = tokio::time::timeout(MAX_WAIT, count.wait_for(|count| *count == 0)).await;
    }
}

impl FirstTurn {
    /// Lists wait for it a limited time from now on.
    pub(crate) fn limited(self) -> Arc<Self> {
        let first = Arc::new(self);
        let late = Arc::downgrade(&first);
        tokio::spawn(async move {
            tokio::time::sleep(MAX_WAIT).await;
            if let Some(late) = late.upgrade() {
                late.end();
            }
        });
        first
    }

    fn end(&self) {
        if self.is_counted.swap(false, Ordering::AcqRel) {
            self.turns.0.send_modify(|count| *count -= 1);
        }
    }
}

impl Drop for FirstTurn {
    fn drop(&mut self) {
        self.end();
    }
}
