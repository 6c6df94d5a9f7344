//! Finding a block of lines in a file, exactly first and then ever more forgivingly.

/// How two lines are compared, strictest first. A looser way is tried only when a stricter one found nothing anywhere.
const PASSES: [fn(&str, &str) -> bool; 4] = [
    |left, right| left == right,
    |left, right| left.trim_end() == right.trim_end(),
    |left, right| left.trim() == right.trim(),
    |left, right| plain(left.trim()).eq(plain(right.trim())),
];

/// The first position at or after `from` where `block` stands in `lines`. An empty block stands anywhere.
pub(crate) fn seek(lines: &[&str], block: &[&str], from: usize) -> Option<usize> {
    if block.is_empty() {
        return Some(from.min(lines.len()));
    }
    let rest = lines.get(from..)?;
    PASSES.iter().find_map(|same| {
        rest.windows(block.len())
            .position(|window| {
                window
                    .iter()
                    .zip(block)
                    .all(|(left, right)| same(left, right))
            })
            .map(|offset| from + offset)
    })
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
}
