//! Records events of one thread.

use codex_rollout_trace::format::Event;
use codex_rollout_trace::ids::ThreadId;
use codex_rollout_trace::{Payloads, Recorder, Scope};

#[derive(Debug)]
pub(crate) struct ThreadRecorder {
    recorder: Recorder,
    id: ThreadId,
}

impl ThreadRecorder {
    pub(crate) fn new(recorder: Recorder, id: ThreadId) -> Self {
        Self { recorder, id }
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    pub(crate) fn id(&self) -> &ThreadId {
        &self.id
    }

    pub(crate) fn scope(&self, turn: &str) -> Scope {
        Scope {
            thread_id: self.id.clone(),
            codex_turn_id: turn.into(),
        }
    }

    /// Records an event of a turn.
    pub(crate) fn record(
        &self,
        turn: &str,
        weight: usize,
        event: impl FnOnce(&mut Payloads<'_>) -> Event + Send + 'static,
    ) {
        self.recorder.record(Some(&self.scope(turn)), weight, event);
    }
}
