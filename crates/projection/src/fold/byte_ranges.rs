//! Records which bytes of a file make which turn, so that some turns can be folded again without the others.
//!
//! Recording keeps only the last turns in the fold, and continues with lines that were added to a file. A line that is
//! about a turn which the fold no longer has makes the ranges incomplete; the file is then read with all turns in the fold.

use std::collections::HashSet;
use std::ops::Range;

use codex_protocol::RolloutItem;

use super::consumer::Consumer;
use super::state::{Counters, EarlierTurns, Fold};
use super::turn::FoldedTurn;

/// The number of last turns that a fold keeps.
const MAX_KEPT_TURNS: usize = if cfg!(test) { 3 } else { 256 };

/// A position between two lines of a file, and the counts of the fold there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FoldPosition {
    offset: u64,
    counters: Counters,
}

/// The bytes of one turn, and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TurnRange {
    turn: Box<str>,
    begin: FoldPosition,
    /// The start of the next turn; none if there is no next one.
    end: Option<u64>,
}

/// A line in the bytes of another turn, or after the last one, that belongs to this turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LateLine {
    /// The position of the turn.
    turn: usize,
    offset: u64,
}

/// The ranges of all turns, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnRanges {
    turns: Vec<TurnRange>,
    late: Vec<LateLine>,
}

/// A range as it is stored: id, start, counts, end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRange<'a> {
    pub turn: &'a str,
    pub begin: u64,
    pub items: u64,
    pub unnamed_turns: u64,
    pub in_reasoning: bool,
    pub end: Option<u64>,
}

impl TurnRanges {
    /// The number of turns.
    pub fn count(&self) -> usize {
        self.turns.len()
    }

    /// The ids of the turns.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.turns.iter().map(|range| &*range.turn)
    }

    /// The offset of the first line of a turn, if there is one at this position.
    pub fn beginning_of(&self, position: usize) -> Option<u64> {
        self.turns.get(position).map(|range| range.begin.offset)
    }

    /// The first line of a turn, and the counts of the fold there.
    pub fn start_of(&self, position: usize) -> Option<(u64, Counters)> {
        let range = self.turns.get(position)?;
        Some((range.begin.offset, range.begin.counters))
    }

    /// The first line and the id of each turn, in order.
    pub fn starts(&self) -> impl Iterator<Item = (u64, &str)> {
        let turns = self.turns.iter();
        turns.map(|range| (range.begin.offset, &*range.turn))
    }

    /// The ranges, to be stored.
    pub fn stored(&self) -> impl ExactSizeIterator<Item = StoredRange<'_>> {
        self.turns.iter().map(|range| StoredRange {
            turn: &range.turn,
            begin: range.begin.offset,
            items: range.begin.counters.items as u64,
            unnamed_turns: range.begin.counters.unnamed_turns,
            in_reasoning: range.begin.counters.in_reasoning,
            end: range.end,
        })
    }

    /// The late lines, to be stored: positions of turns and offsets.
    pub fn stored_late(&self) -> Vec<(usize, u64)> {
        let late = self.late.iter();
        late.map(|line| (line.turn, line.offset)).collect()
    }

    /// Adds a stored range.
    pub fn push(&mut self, stored: &StoredRange<'_>) {
        self.turns.push(TurnRange {
            turn: stored.turn.into(),
            begin: FoldPosition {
                offset: stored.begin,
                counters: Counters {
                    items: usize::try_from(stored.items).unwrap_or(usize::MAX),
                    unnamed_turns: stored.unnamed_turns,
                    in_reasoning: stored.in_reasoning,
                },
            },
            end: stored.end,
        });
    }

    /// Sets the stored late lines.
    pub fn set_late(&mut self, late: Vec<(usize, u64)>) {
        let late = late.into_iter();
        self.late = late
            .map(|(turn, offset)| LateLine { turn, offset })
            .collect();
    }

    /// The parts to read for a range of turns, in file order.
    pub fn parts(&self, wanted: Range<usize>) -> Vec<FilePart> {
        let turns = &self.turns[wanted.clone()];
        let is_within = |line: u64| {
            let holds = |turn: &TurnRange| {
                turn.begin.offset <= line && turn.end.is_none_or(|end| line < end)
            };
            turns.iter().any(holds)
        };
        let whole = turns.iter().map(|turn| FilePart::Turn {
            counters: turn.begin.counters,
            begin: turn.begin.offset,
            end: turn.end,
        });
        let wanted_lines = self.late.iter().filter(|line| wanted.contains(&line.turn));
        let late = wanted_lines
            .filter(|line| !is_within(line.offset))
            .map(|line| FilePart::Line(line.offset));
        let mut parts: Vec<FilePart> = whole.chain(late).collect();
        parts.sort_by_key(FilePart::offset);
        parts
    }

    /// The offsets of late lines that belong to other turns.
    pub fn lines_of_others(&self, wanted: &Range<usize>) -> HashSet<u64> {
        let late = self.late.iter();
        let others = late.filter(|line| !wanted.contains(&line.turn));
        others.map(|line| line.offset).collect()
    }
}

/// Records the ranges of turns, one for each turn of the fold, in order.
#[derive(Debug, Default)]
pub struct ByteRanges {
    /// The start of the current line.
    here: FoldPosition,
    /// The start of an announced review whose turn was not added yet.
    announced: Option<FoldPosition>,
    ranges: TurnRanges,
    /// Late lines before this offset are known.
    known: u64,
    is_incomplete: bool,
}

impl ByteRanges {
    /// The next line, and the counts of the fold before it.
    pub(super) fn go_to(&mut self, offset: u64, counters: Counters) {
        self.here = FoldPosition { offset, counters };
    }

    /// The ranges; none if turns were missing.
    pub(super) fn finish(mut self) -> Option<TurnRanges> {
        self.ranges.late.sort_unstable_by_key(|line| line.offset);
        self.ranges.late.dedup();
        (!self.is_incomplete).then_some(self.ranges)
    }
}

impl Consumer for ByteRanges {
    fn turn_added(&mut self, turn: &FoldedTurn) {
        self.ranges.turns.push(TurnRange {
            turn: turn.id.as_str().into(),
            begin: self.announced.take().unwrap_or(self.here),
            end: None,
        });
    }

    fn turn_left(&mut self, _: &mut FoldedTurn) {
        if let Some(last) = self.ranges.turns.last_mut() {
            last.end.get_or_insert(self.here.offset);
        }
    }

    fn turn_changed(&mut self, position: usize) {
        let range = self.ranges.turns.get(position);
        if range.is_some_and(|range| range.end.is_some()) {
            self.ranges.late.push(LateLine {
                turn: position,
                offset: self.here.offset,
            });
        }
    }

    fn turn_missing(&mut self, turn: &str) -> bool {
        let is_earlier = self.ranges.ids().any(|id| id == turn);
        self.is_incomplete |= is_earlier && self.here.offset >= self.known;
        is_earlier
    }

    fn earlier_turns_cut(&mut self) {
        self.is_incomplete = true;
    }

    fn turns_cut(&mut self, length: usize) {
        self.ranges.turns.truncate(length);
        self.ranges.late.retain(|line| line.turn < length);
        self.announced = None;
    }

    fn review_announced(&mut self) {
        self.announced = Some(self.here);
    }
}

impl Fold<ByteRanges> {
    /// Continues at the start of the turn at this position. Late lines before the offset `known` are among the ranges.
    pub fn continuing(mut ranges: TurnRanges, position: usize, known: u64) -> Self {
        let Some(begin) = ranges.turns.get(position).map(|range| range.begin) else {
            return Self::new(ByteRanges::default());
        };
        ranges.turns.truncate(position);
        ranges.late.retain(|line| line.turn < position);
        let mut fold = Self::new(ByteRanges {
            ranges,
            known,
            ..ByteRanges::default()
        });
        fold.counters = begin.counters;
        fold.earlier = EarlierTurns {
            count: position,
            numbered: None,
        };
        fold
    }

    /// Applies a line of a stored thread, written at `now` and found at `offset`.
    pub fn apply_stored_at(&mut self, offset: u64, now: Option<i64>, line: &RolloutItem) {
        self.consumer.go_to(offset, self.counters);
        self.apply_stored(now, line);
    }

    /// Drops older turns if there are many.
    pub fn keep_last_turns(&mut self) {
        if self.turns.len() < 2 * MAX_KEPT_TURNS {
            return;
        }
        let dropped = self.turns.len() - MAX_KEPT_TURNS;
        let turns = self.turns.drain(..dropped);
        let numbered: usize = turns.map(|turn| turn.numbered()).sum();
        self.earlier.count += dropped;
        self.earlier.numbered = self.earlier.numbered.map(|earlier| earlier + numbered);
    }

    /// The ranges of the turns that [`into_turns`](Self::into_turns) would return; none if turns were missing.
    pub fn into_ranges(mut self) -> Option<TurnRanges> {
        self.close_open_turn();
        self.consumer.finish()
    }
}

/// A part of a file that must be read to fold a turn again.
#[derive(Clone, Copy, Debug)]
pub enum FilePart {
    /// The lines of a turn, up to an offset or the end of the file, and the counts of the fold at its start.
    Turn {
        counters: Counters,
        begin: u64,
        end: Option<u64>,
    },
    /// One line.
    Line(u64),
}

impl FilePart {
    fn offset(&self) -> u64 {
        match self {
            Self::Turn { begin, .. } | Self::Line(begin) => *begin,
        }
    }
}
