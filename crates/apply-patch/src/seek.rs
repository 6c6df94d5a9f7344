//! Finding a block of lines in a file, exactly first and then ever more forgivingly.
//!
//! For each way of comparing, every line of the file has a number that equal lines share. Where a block
//! stands is then found without comparing text again, and without looking at the file line by line for
//! each of many chunks.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

/// How two lines are compared, strictest first: what is left of them has to be equal. A looser way is
/// tried only when a stricter one found nothing anywhere.
const PASSES: [fn(&str) -> Cow<'_, str>; 4] = [
    |line| line.into(),
    |line| line.trim_end().into(),
    |line| line.trim().into(),
    |line| plain(line.trim()).collect::<String>().into(),
];

/// So many steps may be taken for one file. No patch that a person would read comes near.
const STEPS: usize = 200_000_000;

/// The lines of a file, to be looked for in.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    lines: Vec<&'a str>,
    numbered: [OnceCell<Numbered<'a>>; PASSES.len()],
    steps_left: Cell<usize>,
}

/// The lines under one way of comparing.
#[derive(Debug)]
struct Numbered<'a> {
    numbers: HashMap<Cow<'a, str>, usize>,
    lines: Vec<usize>,
    /// Where each number stands, from the top.
    positions: Vec<Vec<usize>>,
}

/// To find it would take too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMuchWork;

impl<'a> Lines<'a> {
    pub(crate) fn new(lines: Vec<&'a str>) -> Self {
        Self {
            lines,
            numbered: Default::default(),
            steps_left: Cell::new(STEPS),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn last(&self) -> Option<&'a str> {
        self.lines.last().copied()
    }

    /// The first position at or after `from` where `block` stands. An empty block stands anywhere.
    pub(crate) fn seek(&self, block: &[&str], from: usize) -> Result<Option<usize>, TooMuchWork> {
        if block.is_empty() {
            return Ok(Some(from.min(self.len())));
        }
        if from > self.len() {
            return Ok(None);
        }
        for (key, numbered) in PASSES.iter().zip(&self.numbered) {
            let numbered = numbered.get_or_init(|| Numbered::new(&self.lines, *key));
            self.spend(block.len())?;
            let number = |line: &&str| numbered.numbers.get(&key(line)).copied();
            let Some(block) = block.iter().map(number).collect::<Option<Vec<_>>>() else {
                continue;
            };
            let found = self.find(numbered, &block, from)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn spend(&self, steps: usize) -> Result<(), TooMuchWork> {
        let left = self.steps_left.get().checked_sub(steps);
        self.steps_left.set(left.ok_or(TooMuchWork)?);
        Ok(())
    }

    fn find(
        &self,
        numbered: &Numbered<'_>,
        block: &[usize],
        from: usize,
    ) -> Result<Option<usize>, TooMuchWork> {
        // The line of the block that stands in the fewest places leads to it soonest.
        let places = |number: usize| {
            let all = &numbered.positions[number];
            &all[all.partition_point(|position| *position < from)..]
        };
        let rarest = block
            .iter()
            .enumerate()
            .map(|(offset, number)| (offset, places(*number)))
            .min_by_key(|(_, places)| places.len());
        let Some((offset, places)) = rarest else {
            return Ok(Some(from));
        };
        let candidates = places.len().saturating_mul(block.len());
        if candidates > self.len() - from + block.len() {
            self.spend(self.len() - from + block.len())?;
            let found = first_place(&numbered.lines[from..], block);
            return Ok(found.map(|found| from + found));
        }
        self.spend(candidates)?;
        let starts = places.iter().filter_map(|place| place.checked_sub(offset));
        let mut starts = starts.filter(|start| *start >= from);
        Ok(starts.find(|start| numbered.lines[*start..].starts_with(block)))
    }
}

impl<'a> Numbered<'a> {
    fn new(lines: &[&'a str], key: fn(&str) -> Cow<'_, str>) -> Self {
        let mut numbered = Self {
            numbers: HashMap::new(),
            lines: Vec::with_capacity(lines.len()),
            positions: Vec::new(),
        };
        for (position, line) in lines.iter().enumerate() {
            let next = numbered.numbers.len();
            let number = *numbered.numbers.entry(key(line)).or_insert(next);
            if number == next {
                numbered.positions.push(Vec::new());
            }
            numbered.positions[number].push(position);
            numbered.lines.push(number);
        }
        numbered
    }
}

/// The first place of a block that is not empty, in one go over the lines (Knuth, Morris and Pratt).
fn first_place(lines: &[usize], block: &[usize]) -> Option<usize> {
    let mut borders = vec![0; block.len()];
    let mut matched = 0;
    for at in 1..block.len() {
        while matched > 0 && block[at] != block[matched] {
            matched = borders[matched - 1];
        }
        matched += usize::from(block[at] == block[matched]);
        borders[at] = matched;
    }
    matched = 0;
    for (at, line) in lines.iter().enumerate() {
        while matched > 0 && *line != block[matched] {
            matched = borders[matched - 1];
        }
        matched += usize::from(*line == block[matched]);
        if matched == block.len() {
            return Some(at + 1 - matched);
        }
    }
    None
}

/// The text in the typewriter's alphabet: dashes, quotes and blanks that look alike become one.
fn plain(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{00A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seek(lines: &[&str], block: &[&str], from: usize) -> Option<usize> {
        Lines::new(lines.to_vec())
            .seek(block, from)
            .expect("little work")
    }

    #[test]
    fn a_stricter_match_further_down_beats_a_looser_one_above() {
        assert_eq!(seek(&["  x", "x ", "x"], &["x"], 0), Some(2));
        assert_eq!(seek(&["  x", "x "], &["x"], 0), Some(1));
        assert_eq!(seek(&["  x"], &["x"], 0), Some(0));
    }

    #[test]
    fn look_alikes_match_last() {
        assert_eq!(
            seek(
                &["a \u{2014} \u{201C}b\u{2019}\u{00A0}c"],
                &["a - \"b' c"],
                0
            ),
            Some(0)
        );
        assert_eq!(seek(&["a\u{2192}b"], &["a-b"], 0), None);
    }

    #[test]
    fn the_cursor_and_the_ends_bound_the_search() {
        assert_eq!(seek(&["x", "y", "x"], &["x"], 1), Some(2));
        assert_eq!(seek(&["x"], &["x"], 1), None);
        assert_eq!(seek(&["x"], &["x", "y"], 0), None);
        assert_eq!(seek(&["x"], &[], 1), Some(1));
        assert_eq!(seek(&["x"], &["x"], 9), None);
    }

    #[test]
    fn every_block_is_found_where_looking_at_each_place_finds_it() {
        // All texts of two kinds of lines up to this length, and all blocks.
        let texts = |length: u32| {
            (0..1_u32 << length).map(move |bits| -> Vec<&str> {
                (0..length)
                    .map(|at| ["a", "b"][(bits >> at & 1) as usize])
                    .collect()
            })
        };
        for lines in (0..8).flat_map(texts) {
            for block in (1..5).flat_map(texts) {
                for from in 0..=lines.len() {
                    let mut windows = lines[from..].windows(block.len());
                    let expected = windows.position(|window| window == block);
                    let expected = expected.map(|offset| from + offset);
                    assert_eq!(seek(&lines, &block, from), expected, "{lines:?} {block:?}");
                }
            }
        }
    }

    #[test]
    fn many_chunks_in_a_large_file_are_found_soon() {
        let numbers: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
        let lines = Lines::new(numbers.iter().map(String::as_str).collect());
        for (at, number) in numbers.iter().enumerate().rev() {
            // With a blank, so that a stricter way has found nothing.
            let written = format!("{number} ");
            assert_eq!(lines.seek(&[&written], 0), Ok(Some(at)));
        }
        let same = Lines::new(vec!["x"; 100_000]);
        let mut block = vec!["x"; 50_000];
        assert_eq!(same.seek(&block, 0), Ok(Some(0)));
        block.push("y");
        assert_eq!(same.seek(&block, 0), Ok(None));
    }

    #[test]
    fn work_without_end_is_given_up() {
        let mut text = ["x", "y"].repeat(100);
        text.push("z");
        let lines = Lines::new(text);
        lines.steps_left.set(1000);
        let attempts: Vec<_> = (0..10).map(|_| lines.seek(&["x", "y", "y"], 0)).collect();
        assert_eq!(attempts.first(), Some(&Ok(None)));
        assert_eq!(attempts.last(), Some(&Err(TooMuchWork)));
    }
}
