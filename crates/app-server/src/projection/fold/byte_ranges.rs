//! Records which bytes of a file make which turn, so that some turns can be folded again without the others.

use std::collections::HashSet;

use codex_protocol::RolloutItem;

use super::consumer::Consumer;
use super::state::{Counters, Fold};
use super::turn::FoldedTurn;

/// A position between two lines of a file, and the counts of the fold there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FoldPosition {
    offset: u64,
    counters: Counters,
}

/// The part of a file that makes one turn.
#[derive(Debug)]
struct FileRange {
    begin: FoldPosition,
    /// The start of the next turn; none if there is no next one.
    end: Option<u64>,
    /// The offsets of later lines that belong to this turn.
    late: Vec<u64>,
}

/// The bytes of one turn, and its id.
#[derive(Debug)]
pub(crate) struct TurnRange {
    pub(crate) turn: String,
    range: FileRange,
}

impl TurnRange {
    /// The offset of its first line.
    pub(crate) fn begin(&self) -> u64 {
        self.range.begin.offset
    }

    /// The counts of the fold at the start.
    pub(crate) fn counters(&self) -> Counters {
        self.range.begin.counters
    }
}

/// Records the ranges of turns, one for each turn of the fold, in order.
#[derive(Debug, Default)]
pub(crate) struct ByteRanges {
    /// The start of the current line.
    here: FoldPosition,
    /// The start of an announced review whose turn was not added yet.
    announced: Option<FoldPosition>,
    ranges: Vec<FileRange>,
}

impl Consumer for ByteRanges {
    fn turn_added(&mut self) {
        self.ranges.push(FileRange {
            begin: self.announced.take().unwrap_or(self.here),
            end: None,
            late: Vec::new(),
        });
    }

    fn turn_left(&mut self, _: &mut FoldedTurn) {
        if let Some(last) = self.ranges.last_mut() {
            last.end.get_or_insert(self.here.offset);
        }
    }

    fn turn_changed(&mut self, position: usize) {
        let range = self.ranges.get_mut(position);
        if let Some(range) = range.filter(|range| range.end.is_some()) {
            range.late.push(self.here.offset);
        }
    }

    fn turns_cut(&mut self, length: usize) {
        self.ranges.truncate(length);
        self.announced = None;
    }

    fn review_announced(&mut self) {
        self.announced = Some(self.here);
    }
}

impl Fold<ByteRanges> {
    /// Applies a line of a stored thread, written at `now` and found at `offset`.
    pub(crate) fn apply_stored_at(&mut self, offset: u64, now: Option<i64>, line: &RolloutItem) {
        self.consumer.here = FoldPosition {
            offset,
            counters: self.counters,
        };
        self.apply_stored(now, line);
    }

    /// The ranges of the turns that [`into_turns`](Self::into_turns) would return.
    pub(crate) fn into_ranges(mut self) -> Vec<TurnRange> {
        self.close_open_turn();
        let ids = self.turns.into_iter().map(|turn| turn.id);
        ids.zip(self.consumer.ranges)
            .map(|(turn, range)| TurnRange { turn, range })
            .collect()
    }
}

/// A part of a file that must be read to fold a turn again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FilePart<'a> {
    /// The lines of a turn, up to an offset or the end of the file.
    Turn(&'a TurnRange, u64, Option<u64>),
    /// One line.
    Line(u64),
}

impl FilePart<'_> {
    fn offset(&self) -> u64 {
        match self {
            Self::Turn(_, offset, _) | Self::Line(offset) => *offset,
        }
    }
}

/// The parts to read for a range of turns, in file order.
pub(crate) fn parts(all: &[TurnRange], wanted: std::ops::Range<usize>) -> Vec<FilePart<'_>> {
    let turns = &all[wanted];
    let is_within = |line: u64| {
        let timeout_pauses =
            |turn: &TurnRange| turn.begin() <= line && turn.range.end.is_none_or(|end| line < end);
        turns.iter().any(timeout_pauses)
    };
    let mut parts: Vec<FilePart<'_>> = Vec::new();
    for turn in turns {
        parts.push(FilePart::Turn(turn, turn.begin(), turn.range.end));
        let late = turn.range.late.iter().filter(|line| !is_within(**line));
        parts.extend(late.map(|line| FilePart::Line(*line)));
    }
    parts.sort_by_key(FilePart::offset);
    parts
}

/// The offsets of lines in the wanted turns that belong to earlier turns.
pub(crate) fn lines_of_others(all: &[TurnRange], wanted: std::ops::Range<usize>) -> HashSet<u64> {
    let others = all[..wanted.start].iter().chain(&all[wanted.end..]);
    others
        .flat_map(|turn| turn.range.late.iter().copied())
        .collect()
}
