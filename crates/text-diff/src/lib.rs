//! Layer: foundation. Compares two texts line by line, and prints unified diffs.
//!
//! All crates compare texts here. `similar` does the search; its own text types are not used, because they link all
//! of its algorithms for each type of text, which takes 0.7 MB of the binary.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::Hash;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, group_diff_ops};

/// After this time the diff is still correct but may not be minimal, so that large files do not delay a turn.
const MAX_SEARCH: Duration = Duration::from_millis(500);

/// The lines of two texts and the operations that turn the old text into the new one.
#[derive(Debug)]
pub struct LineDiff<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    operations: Vec<DiffOp>,
}

/// A section of two lists: equal, or without anything in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub is_equal: bool,
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// Aligns two lists: sections that are equal, and what differs between them.
pub fn align<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<Section> {
    let operations = compare(numbered(old, new));
    let sections = operations.iter().map(|operation| Section {
        is_equal: matches!(operation, DiffOp::Equal { .. }),
        old: operation.old_range(),
        new: operation.new_range(),
    });
    sections.collect()
}

/// Equal elements have equal numbers.
fn numbered<T: Eq + Hash>(old: &[T], new: &[T]) -> [Vec<usize>; 2] {
    let mut numbers = HashMap::new();
    [old, new].map(|list| {
        let mut number = |element| {
            let next = numbers.len();
            *numbers.entry(element).or_insert(next)
        };
        list.iter().map(&mut number).collect()
    })
}

fn compare([old, new]: [Vec<usize>; 2]) -> Vec<DiffOp> {
    let mut capture = Compact::new(Replace::new(Capture::new()), &*old, &*new);
    let Ok(()) = myers::diff_deadline(
        &mut capture,
        &*old,
        0..old.len(),
        &*new,
        0..new.len(),
        Some(Instant::now() + MAX_SEARCH),
    );
    capture.into_inner().into_inner().into_ops()
}

/// Compares two texts line by line.
pub fn diff_lines<'a>(old: &'a str, new: &'a str) -> LineDiff<'a> {
    let (old, new) = (lines(old), lines(new));
    let operations = compare(numbered(&old, &new));
    LineDiff {
        old,
        new,
        operations,
    }
}

/// The hunks of a unified diff without file headers; empty if the texts are equal.
pub fn unified_diff(old: &str, new: &str, context_lines: usize) -> String {
    diff_lines(old, new).hunks(context_lines)
}

impl LineDiff<'_> {
    /// How many lines the new text has that the old one lacks.
    pub fn insertions(&self) -> usize {
        let changed = self.changes().map(|change| change.new_range().len());
        changed.sum()
    }

    /// How many lines the old text has that the new one lacks.
    pub fn deletions(&self) -> usize {
        let changed = self.changes().map(|change| change.old_range().len());
        changed.sum()
    }

    fn changes(&self) -> impl Iterator<Item = &DiffOp> {
        let operations = self.operations.iter();
        operations.filter(|operation| !matches!(operation, DiffOp::Equal { .. }))
    }

    /// The hunks of a unified diff without file headers; empty if the texts are equal.
    pub fn hunks(&self, context_lines: usize) -> String {
        let mut text = String::new();
        for hunk in group_diff_ops(self.operations.clone(), context_lines) {
            self.write_hunk(&hunk, &mut text);
        }
        text
    }

    fn write_hunk(&self, hunk: &[DiffOp], text: &mut String) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            return;
        };
        let old = hunk_range(first.old_range().start..last.old_range().end);
        let new = hunk_range(first.new_range().start..last.new_range().end);
        let _ = writeln!(text, "@@ -{old} +{new} @@");
        for operation in hunk {
            match operation {
                DiffOp::Equal { .. } => write_lines(' ', &self.old[operation.old_range()], text),
                _ => {
                    write_lines('-', &self.old[operation.old_range()], text);
                    write_lines('+', &self.new[operation.new_range()], text);
                }
            }
        }
    }
}

/// Lines with their ends, which are LF, CR LF or CR.
fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let bytes = text.as_bytes();
    let mut start = 0;
    for (index, byte) in bytes.iter().enumerate() {
        let is_end = *byte == b'\n' || (*byte == b'\r' && bytes.get(index + 1) != Some(&b'\n'));
        if is_end {
            lines.push(&text[start..=index]);
            start = index + 1;
        }
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

/// A range of a hunk's header: numbers from 1, no length if it is one line.
fn hunk_range(range: Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => (range.start + 1).to_string(),
        length => format!("{},{length}", range.start + 1),
    }
}

fn write_lines(sign: char, lines: &[&str], text: &mut String) {
    for line in lines {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with(['\n', '\r']) {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use similar::{ChangeTag, TextDiff};

    use super::{diff_lines, unified_diff};

    #[test]
    fn hunks_have_context_and_short_ranges() {
        assert_eq!(
            unified_diff("one\ntwo\nthree\n", "one\n2\nthree\n", 1),
            "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
        );
        assert_eq!(unified_diff("", "x\n", 1), "@@ -0,0 +1 @@\n+x\n");
        assert_eq!(unified_diff("x\n", "", 1), "@@ -1 +0,0 @@\n-x\n");
    }

    #[test]
    fn a_missing_final_newline_is_marked() {
        assert_eq!(
            unified_diff("a", "a\n", 1),
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"
        );
    }

    #[test]
    fn equal_texts_have_no_hunks() {
        assert_eq!(unified_diff("a\n", "a\n", 1), "");
    }

    proptest! {
        /// The texts of `similar` itself are the standard: clients compare diffs with those of other releases.
        #[test]
        fn hunks_and_counts_are_those_of_similar(
            old in "([ab]?[\r\n]{0,2}){0,160}",
            new in "([abc]?[\r\n]{0,2}){0,160}",
            context in 0..4_usize,
        ) {
            let expected = TextDiff::from_lines(&old, &new);
            let diff = diff_lines(&old, &new);
            let hunks = expected.unified_diff().context_radius(context).to_string();
            prop_assert_eq!(diff.hunks(context), hunks);
            let count = |tag| expected.iter_all_changes().filter(|change| change.tag() == tag).count();
            prop_assert_eq!(diff.insertions(), count(ChangeTag::Insert));
            prop_assert_eq!(diff.deletions(), count(ChangeTag::Delete));
        }
    }
}
