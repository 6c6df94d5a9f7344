//! Which part of a file makes which turn, so that some turns of a thread can be folded again without
//! the others.

use std::collections::HashSet;

use super::{Fold, FoldedTurn, Moment, RolloutItem};

/// A place between two lines of a file, and what the fold knew there of all that came before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    offset: u64,
    numbered: usize,
    unnamed: u64,
    is_thinking: bool,
}

/// Where a turn comes from.
#[derive(Debug, Default)]
pub(super) struct Origin {
    mark: Mark,
    /// Where the next turn begins; none if it goes on to the end of the file.
    end: Option<u64>,
    /// The lines after that which still say something of this turn.
    late: Vec<u64>,
}

/// The part of a file that makes one turn.
#[derive(Debug)]
pub(crate) struct Stretch {
    /// The id of the turn.
    pub(crate) turn: String,
    origin: Origin,
}

impl Stretch {
    /// Where in the file it begins.
    pub(crate) fn begin(&self) -> u64 {
        self.origin.mark.offset
    }
}

/// What is read of a file to fold some of its turns again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'a> {
    /// The lines from one place to another, or to the end of the file; a turn begins there.
    Turn(&'a Stretch, u64, Option<u64>),
    /// One line.
    Line(u64),
}

impl Part<'_> {
    fn offset(&self) -> u64 {
        match self {
            Self::Turn(_, offset, _) | Self::Line(offset) => *offset,
        }
    }
}

impl Fold {
    /// Takes a line of a stored thread that stands at `offset` and was written at `moment`.
    pub(crate) fn apply_stored_at(&mut self, offset: u64, moment: Moment<'_>, line: &RolloutItem) {
        self.mark = Mark {
            offset,
            numbered: self.numbered,
            unnamed: self.unnamed,
            is_thinking: self.is_thinking,
        };
        self.apply_stored(moment, line);
    }

    /// The parts of the file that make the turns which [`into_turns`](Self::into_turns) would give.
    pub(crate) fn into_stretches(mut self) -> Vec<Stretch> {
        self.close_open_turn();
        let stretch = |turn: FoldedTurn| Stretch {
            turn: turn.id,
            origin: turn.origin,
        };
        self.turns.into_iter().map(stretch).collect()
    }

    /// What follows stands in no turn that is taken.
    pub(crate) fn leave(&mut self) {
        self.close_open_turn();
    }

    /// What follows makes this turn, as if everything before it had been taken.
    pub(crate) fn go_to(&mut self, stretch: &Stretch) {
        self.leave();
        let mark = stretch.origin.mark;
        self.numbered = mark.numbered;
        self.unnamed = mark.unnamed;
        self.is_thinking = mark.is_thinking;
    }

    /// The last turn ends here at the latest, because something else begins.
    pub(super) fn end_stretch(&mut self) {
        let here = self.mark.offset;
        if let Some(turn) = self.turns.last_mut() {
            turn.origin.end.get_or_insert(here);
            if self.packs && !turn.is_open {
                turn.pack();
            }
        }
    }

    /// A turn begins with the line that is taken now.
    pub(super) fn origin_here(&self) -> Origin {
        Origin {
            mark: self.mark,
            ..Origin::default()
        }
    }

    /// The line that is taken now says something of this turn.
    pub(super) fn said_of(&mut self, position: usize) {
        let here = self.mark.offset;
        let origin = &mut self.turns[position].origin;
        if origin.end.is_some() && !self.has_listener() {
            self.turns[position].origin.late.push(here);
        }
    }

    /// Whether an item with an id of its own may end in this turn without the other items telling: lines
    /// that name no turn belong to it, and no thought goes on that the item would break off.
    pub(crate) fn can_pass_over_item_of(&self, id: &str) -> bool {
        let last = self.turns.last();
        let is_here = last.is_some_and(|turn| turn.is_open && turn.is_explicit && turn.id == id);
        is_here && !self.is_thinking
    }
}

/// What to read, in the order of the file, to make the turns from one to another.
pub(crate) fn parts(all: &[Stretch], wanted: std::ops::Range<usize>) -> Vec<Part<'_>> {
    let turns = &all[wanted];
    let is_within = |line: u64| {
        let holds = |stretch: &Stretch| {
            let origin = &stretch.origin;
            origin.mark.offset <= line && origin.end.is_none_or(|end| line < end)
        };
        turns.iter().any(holds)
    };
    let mut parts: Vec<Part<'_>> = Vec::new();
    for stretch in turns {
        let origin = &stretch.origin;
        parts.push(Part::Turn(stretch, origin.mark.offset, origin.end));
        let late = origin.late.iter().filter(|line| !is_within(**line));
        parts.extend(late.map(|line| Part::Line(*line)));
    }
    parts.sort_by_key(Part::offset);
    parts
}

/// The lines that say something of earlier turns than the one they stand in, the wanted ones left out.
pub(crate) fn lines_of_others(all: &[Stretch], wanted: std::ops::Range<usize>) -> HashSet<u64> {
    let others = all[..wanted.start].iter().chain(&all[wanted.end..]);
    others
        .flat_map(|stretch| stretch.origin.late.iter().copied())
        .collect()
}
