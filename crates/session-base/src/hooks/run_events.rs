//! The events of runs. Every run that began also ends.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use codex_hooks::{HookEffects, HookOutcome};
use codex_protocol::{
    EventMsg, HookEvent, HookOutputEntry, HookOutputEntryKind, HookRunStatus, HookRunSummary,
};

use crate::events::Emitter;
use crate::ports::Clock;

/// Runs of one event. Dropping it ends those that have not ended.
#[derive(Debug)]
pub(super) struct ActiveRuns {
    emitter: Emitter,
    clock: Arc<dyn Clock>,
    turn: String,
    began: Duration,
    active: VecDeque<HookRunSummary>,
}

impl ActiveRuns {
    /// Emits the beginnings.
    pub(super) fn begin(
        emitter: &Emitter,
        clock: &Arc<dyn Clock>,
        turn: &str,
        runs: impl Iterator<Item = HookRunSummary>,
    ) -> Self {
        let active = Self {
            emitter: emitter.clone(),
            clock: Arc::clone(clock),
            turn: turn.to_owned(),
            began: clock.elapsed(),
            active: runs.collect(),
        };
        for run in &active.active {
            active.emit(EventMsg::HookStarted, run.clone());
        }
        active
    }

    /// Emits the end of the next run.
    pub(super) fn end(&mut self, outcome: &HookOutcome, took: Duration) {
        let Some(run) = self.active.pop_front() else {
            return;
        };
        let whole = |number: u128| i64::try_from(number).unwrap_or(i64::MAX);
        let ended = HookRunSummary {
            status: outcome.status,
            entries: outcome.entries.clone(),
            completed_at: Some(self.clock.now().as_second()),
            duration_ms: Some(whole(took.as_millis())),
            ..run
        };
        self.emit(EventMsg::HookCompleted, ended);
    }

    fn emit(&self, event: fn(HookEvent) -> EventMsg, run: HookRunSummary) {
        let turn_id = Some(self.turn.clone()).filter(|turn| !turn.is_empty());
        let event = event(HookEvent { turn_id, run });
        self.emitter.emit(&self.turn, event);
    }
}

impl Drop for ActiveRuns {
    fn drop(&mut self) {
        let interrupted = HookOutcome {
            status: HookRunStatus::Failed,
            entries: vec![HookOutputEntry {
                kind: HookOutputEntryKind::Error,
                text: "hook was interrupted".to_owned(),
            }],
            effects: HookEffects::default(),
        };
        let took = self.clock.elapsed().saturating_sub(self.began);
        while !self.active.is_empty() {
            self.end(&interrupted, took);
        }
    }
}
