//! A patch while the model writes it: the changes so far, told from time to time.

use std::collections::BTreeMap;
use std::time::Duration;

use codex_apply_patch::{WrittenChange, written_changes};
use codex_protocol::{EventMsg, PatchApplyUpdatedEvent, ResponseItem};
use codex_tools::written_change;

use super::recording::RunningTurn;

const TOOL: &str = "apply_patch";
/// The time between two events.
const INTERVAL: Duration = Duration::from_millis(500);
/// Longer patches are not told about while they are written.
const MAX_BYTES: usize = 1024 * 1024;

/// A call of the patch tool that the model is writing.
#[derive(Debug)]
pub(super) struct PatchStream {
    call_id: String,
    text: String,
    last: BTreeMap<String, WrittenChange>,
    told_at: Option<Duration>,
}

impl PatchStream {
    /// The stream of a call that begins; none if it is no patch.
    pub(super) fn begin(turn: &RunningTurn<'_>, item: &ResponseItem) -> Option<Self> {
        let ResponseItem::CustomToolCall { name, call_id, .. } = item else {
            return None;
        };
        let is_told = turn.scope.session.config.options.features.patch_events && name == TOOL;
        is_told.then(|| Self {
            call_id: call_id.clone(),
            text: String::new(),
            last: BTreeMap::new(),
            told_at: None,
        })
    }

    /// Adds what the model has written.
    pub(super) fn push(&mut self, turn: &RunningTurn<'_>, delta: &str) {
        if self.text.len() + delta.len() > MAX_BYTES {
            return;
        }
        self.text.push_str(delta);
        let now = turn.scope.session.clock.elapsed();
        let is_early = |told_at: Duration| now.saturating_sub(told_at) < INTERVAL;
        if !self.told_at.is_some_and(is_early) {
            self.send(turn, now);
        }
    }

    /// Tells what has not been told yet.
    pub(super) fn end(mut self, turn: &RunningTurn<'_>) {
        self.text.push('\n');
        self.send(turn, Duration::ZERO);
    }

    fn send(&mut self, turn: &RunningTurn<'_>, now: Duration) {
        let changes = written_changes(&self.text);
        if changes == self.last {
            return;
        }
        self.told_at = Some(now);
        let told = changes
            .iter()
            .map(|(path, change)| (path.clone(), written_change(change)));
        turn.emitter
            .emit(EventMsg::PatchApplyUpdated(PatchApplyUpdatedEvent {
                call_id: self.call_id.clone(),
                turn_id: turn.emitter.turn_id().to_owned(),
                changes: told.collect(),
            }));
        self.last = changes;
    }
}
