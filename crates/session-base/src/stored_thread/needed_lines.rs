//! Where the lines are that loading a thread needs: those since its last compaction, and a few before it.

use codex_rollout::{LineSelection, ScannedLine};
use serde::{Deserialize, Serialize};

use super::{Revert, has_no_usage, replaces_history};

/// A thread whose lines of metadata are more is read as a whole.
const MAX_METAS: usize = 64;

/// The offsets of lines that loading a thread needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeededLines {
    metas: Vec<u64>,
    /// The latest settings of a turn, and the latest change of settings without a turn.
    settings: Option<u64>,
    changed_settings: Option<u64>,
    /// The latest token count, and the latest that is not empty.
    count: Option<u64>,
    usage: Option<u64>,
    /// The latest compaction that has the history after it.
    compaction: Option<u64>,
    /// What is pinned.
    #[serde(default)]
    pins: Option<u64>,
    /// The start of the last turn, and the latest interrupt.
    turn: Option<u64>,
    interrupt: Option<u64>,
    /// Whether turns were taken out since that compaction. They may begin before it.
    is_reverted: bool,
}

impl NeededLines {
    /// Takes the next line. Lines may be taken again, in their order.
    pub fn take(&mut self, line: ScannedLine<'_>) {
        let Some((kind, payload)) = line.kind() else {
            return;
        };
        let here = Some(line.offset());
        match (kind.as_ref(), payload.as_deref()) {
            ("session_meta", _) => {
                let is_new = self.metas.last().copied() < here;
                if is_new && self.metas.len() <= MAX_METAS {
                    self.metas.extend(here);
                }
            }
            ("turn_context", _) => self.settings = here,
            ("thread_pins", _) => self.pins = here,
            ("event_msg", Some("token_count")) => {
                self.count = here;
                if !has_no_usage(line.bytes()) {
                    self.usage = here;
                }
            }
            ("event_msg", Some("thread_settings_applied")) => self.changed_settings = here,
            ("event_msg", Some("task_started" | "turn_started")) => self.turn = here,
            ("event_msg", Some("turn_aborted")) => self.interrupt = here,
            ("event_msg", Some("thread_rolled_back")) => {
                self.is_reverted |= Revert::parse(line).is_some();
            }
            ("compacted", _) if replaces_history(line) => {
                self.compaction = here;
                self.is_reverted = false;
            }
            _ => {}
        }
    }

    /// What to read, with these lines too. None if it is the whole file.
    #[must_use]
    pub fn selection(&self, more: impl IntoIterator<Item = u64>) -> Option<LineSelection> {
        if self.is_reverted || self.metas.is_empty() || self.metas.len() > MAX_METAS {
            return None;
        }
        let rest = self.compaction?.min(self.turn.unwrap_or(u64::MAX));
        Some(self.lines_before(rest, more))
    }

    /// The lines with what is shown of the thread besides its turns, with these lines too. Everything from `rest` on is
    /// read.
    #[must_use]
    pub fn facts(&self, rest: u64, more: impl IntoIterator<Item = u64>) -> LineSelection {
        self.lines_before(rest, self.turn.into_iter().chain(more))
    }

    fn lines_before(&self, rest: u64, more: impl IntoIterator<Item = u64>) -> LineSelection {
        let single = [
            self.settings,
            self.changed_settings,
            self.count,
            self.usage,
            self.interrupt,
            self.pins,
        ];
        let mut lines: Vec<u64> = self.metas.clone();
        lines.extend(single.into_iter().flatten().chain(more));
        lines.retain(|line| *line < rest);
        lines.sort_unstable();
        lines.dedup();
        LineSelection { lines, rest }
    }
}
