//! The state that all traced sessions of a process share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use codex_rollout_trace::Recorder;
use parking_lot::Mutex;

#[derive(Debug, Default)]
pub(crate) struct SharedTraceState {
    compactions: AtomicU64,
    /// Recorders of ended sessions that may still have something to write.
    closing: Mutex<Vec<Recorder>>,
}

impl SharedTraceState {
    /// The number of the next compaction request.
    pub(crate) fn next_compaction(&self) -> u64 {
        self.compactions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The recorders of ended sessions.
    pub(crate) fn closing(&self) -> Vec<Recorder> {
        self.closing.lock().clone()
    }

    /// Keeps the recorder of an ended session until everything is written.
    pub(crate) fn close(&self, recorder: &Recorder) {
        let mut closing = self.closing.lock();
        closing.retain(is_writing);
        if is_writing(recorder) {
            closing.push(recorder.clone());
        }
    }
}

fn is_writing(recorder: &Recorder) -> bool {
    !recorder.flush(Duration::ZERO)
}
