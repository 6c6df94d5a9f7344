//! Finds a block of lines in a file, first exactly and then with looser comparisons.
//!
//! For each comparison, equal lines of the file share a number. A block is then found without comparing text again and
//! without scanning the whole file for each chunk.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

/// The comparisons, strictest first: two lines match if their normalized forms are equal. A looser comparison is used
/// only if all stricter ones find nothing.
const PASSES: [fn(&str) -> Cow<'_, str>; 4] = [
    |line| line.into(),
    |line| line.trim_end().into(),
    |line| line.trim().into(),
    |line| plain(line.trim()).collect::<String>().into(),
];

/// Limit on search steps per file, far above what any real patch needs.
const STEPS: usize = 200_000_000;

/// The lines of a file, prepared for searching.
#[derive(Debug)]
pub(crate) struct LineIndex<'a> {
    lines: Vec<&'a str>,
    numbered: [OnceCell<NumberedLines<'a>>; PASSES.len()],
    steps_left: Cell<usize>,
}

/// The lines of the file, numbered under one comparison.
#[derive(Debug)]
struct NumberedLines<'a> {
    numbers: HashMap<Cow<'a, str>, usize>,
    lines: Vec<usize>,
    /// The line indexes of each number, in order.
    positions: Vec<Vec<usize>>,
}

/// The search exceeds its step limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SearchLimitExceeded;

impl<'a> LineIndex<'a> {
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

    /// The first position at or after `from` where `block` matches. An empty block matches anywhere.
    pub(crate) fn seek(
        &self,
        block: &[&str],
        from: usize,
    ) -> Result<Option<usize>, SearchLimitExceeded> {
        if block.is_empty() {
            return Ok(Some(from.min(self.len())));
        }
        if from > self.len() {
            return Ok(None);
        }
        for (key, numbered) in PASSES.iter().zip(&self.numbered) {
            let numbered = numbered.get_or_init(|| NumberedLines::new(&self.lines, *key));
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

    fn spend(&self, steps: usize) -> Result<(), SearchLimitExceeded> {
        let left = self.steps_left.get().checked_sub(steps);
        self.steps_left.set(left.ok_or(SearchLimitExceeded)?);
        Ok(())
    }

    fn find(
        &self,
        numbered: &NumberedLines<'_>,
        block: &[usize],
        from: usize,
    ) -> Result<Option<usize>, SearchLimitExceeded> {
        // The rarest line of the block leads to a match soonest.
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
            let found = first_match(&numbered.lines[from..], block);
            return Ok(found.map(|found| from + found));
        }
        self.spend(candidates)?;
        let starts = places.iter().filter_map(|place| place.checked_sub(offset));
        let mut starts = starts.filter(|start| *start >= from);
        Ok(starts.find(|start| numbered.lines[*start..].starts_with(block)))
    }
}

impl<'a> NumberedLines<'a> {
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

/// The first match of a non-empty block in one pass over the lines (Knuth-Morris-Pratt).
fn first_match(lines: &[usize], block: &[usize]) -> Option<usize> {
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

/// The text with typographic dashes, quotes and blanks replaced by their ASCII forms.
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
        LineIndex::new(lines.to_vec())
            .seek(block, from)
            .expect("little work")
    }

    #[test]
    fn stricter_match_wins_over_an_earlier_loose_one() {
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
    fn block_search_equals_linear_search() {
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
        let lines = LineIndex::new(numbers.iter().map(String::as_str).collect());
        for (at, number) in numbers.iter().enumerate().rev() {
            // With a blank, so that a stricter way has found nothing.
            let written = format!("{number} ");
            assert_eq!(lines.seek(&[&written], 0), Ok(Some(at)));
        }
        let same = LineIndex::new(vec!["x"; 100_000]);
        let mut block = vec!["x"; 50_000];
        assert_eq!(same.seek(&block, 0), Ok(Some(0)));
        block.push("y");
        assert_eq!(same.seek(&block, 0), Ok(None));
    }

    #[test]
    fn work_without_end_is_given_up() {
        let mut text = ["x", "y"].repeat(100);
        text.push("z");
        let lines = LineIndex::new(text);
        lines.steps_left.set(1000);
        let attempts: Vec<_> = (0..10).map(|_| lines.seek(&["x", "y", "y"], 0)).collect();
        assert_eq!(attempts.first(), Some(&Ok(None)));
        assert_eq!(attempts.last(), Some(&Err(SearchLimitExceeded)));
    }
}
