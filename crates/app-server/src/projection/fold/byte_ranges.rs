//! Which part of a file makes which turn, so that some turns of a thread can be folded again without
//! the others.

use std::collections::HashSet;

use codex_protocol::RolloutItem;

use super::consumer::Consumer;
use super::state::{Counters, Fold};
use super::turn::FoldedTurn;

/// A place between two lines of a file, and what the fold had counted there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Checkpoint {
    offset: u64,
    counters: Counters,
}

/// The part of a file that makes one turn.
#[derive(Debug)]
struct FileRange {
    begin: Checkpoint,
    /// Where the next turn begins; none if it goes on to the end of the file.
    end: Option<u64>,
    /// The lines after that that still belong to this turn.
    late: Vec<u64>,
}

/// The part of a file that makes one turn, and the id of that turn.
#[derive(Debug)]
pub(crate) struct TurnRange {
    pub(crate) turn: String,
    range: FileRange,
}

impl TurnRange {
    /// Where in the file it begins.
    pub(crate) fn begin(&self) -> u64 {
        self.range.begin.offset
    }

    /// What the fold had counted there.
    pub(crate) fn counters(&self) -> Counters {
        self.range.begin.counters
    }
}

/// Notes where turns begin and end in a file. It has a range for each turn of the fold, in their order.
#[derive(Debug, Default)]
pub(crate) struct ByteRanges {
    /// Where the line begins that is taken now.
    here: Checkpoint,
    /// Where a review was announced whose turn is still to be added.
    announced: Option<Checkpoint>,
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
    /// Takes a line of a stored thread that stands at `offset` and was written at `now`.
    pub(crate) fn apply_stored_at(&mut self, offset: u64, now: Option<i64>, line: &RolloutItem) {
        self.consumer.here = Checkpoint {
            offset,
            counters: self.counters,
        };
        self.apply_stored(now, line);
    }

    /// The parts of the file that make the turns which [`into_turns`](Self::into_turns) would give.
    pub(crate) fn into_ranges(mut self) -> Vec<TurnRange> {
        self.close_open_turn();
        let ids = self.turns.into_iter().map(|turn| turn.id);
        ids.zip(self.consumer.ranges)
            .map(|(turn, range)| TurnRange { turn, range })
            .collect()
    }
}

/// What is read of a file to fold some of its turns again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FilePart<'a> {
    /// The lines from one place to another, or to the end of the file; a turn begins there.
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

/// What to read, in the order of the file, to make the turns from one to another.
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

/// The lines that belong to earlier turns than the one they stand in, without the wanted ones.
pub(crate) fn lines_of_others(all: &[TurnRange], wanted: std::ops::Range<usize>) -> HashSet<u64> {
    let others = all[..wanted.start].iter().chain(&all[wanted.end..]);
    others
        .flat_map(|turn| turn.range.late.iter().copied())
        .collect()
}
